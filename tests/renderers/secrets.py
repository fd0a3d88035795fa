"""Secrets of every kind, made when the tests run: no literal in a file looks like one.

The kinds are those that gitleaks publishes (their beginnings and lengths are facts; MIT), and what vendors document
besides. `form` is how the secret stands in a text, `{}` being the secret.
"""

from __future__ import annotations

import base64
import random
from typing import NamedTuple

R = random.Random(11)
LOWER = "abcdefghijklmnopqrstuvwxyz"
UPPER = LOWER.upper()
DIGITS = "0123456789"
SETS = {
    "a": LOWER + UPPER + DIGITS,
    "l": LOWER + DIGITS,
    "u": UPPER + DIGITS,
    "h": "0123456789abcdef",
    "H": "0123456789ABCDEF",
    "d": DIGITS,
    "w": LOWER + UPPER + DIGITS + "_-",
    "b": LOWER + UPPER + DIGITS + "+/",
    "z": LOWER + UPPER,
    "s": LOWER,
}


class Kind(NamedTuple):
    name: str
    secret: str
    form: str = "{}"

    @property
    def text(self) -> str:
        return self.form.replace("{}", self.secret)


def run(sort: str, length: int) -> str:
    """Drawn at random; with a letter and a digit where the set has both, and no sign at its ends."""
    signs = SETS[sort]
    plain = [c for c in signs if c.isalnum()]
    drawn = [R.choice(signs) for _ in range(length)]
    drawn[0], drawn[-1] = R.choice(plain), R.choice(plain)
    if length > 4 and any(map(str.isdigit, signs)) and any(map(str.isalpha, signs)):
        drawn[2], drawn[3] = R.choice([c for c in plain if c.isdigit()]), R.choice([c for c in plain if c.isalpha()])
    return "".join(drawn)


def build(told: str) -> str:
    """`ghp_ a36` is the beginning and a run of 36: a letter and a number are a run, other words stand as they are.

    The same each time, in whatever order tests run.
    """
    R.seed(told)
    pieces = []
    for word in told.split():
        pieces.append(run(word[0], int(word[1:])) if word[0] in SETS and word[1:].isdigit() else word)
    return "".join(pieces)


UUID = "h8 - h4 - h4 - h4 - h12"
# As gitleaks has them: those with a look of their own.
LOOKS = {
    "1password-secret-key": "A3- u6 - u11 - u5 - u5 - u5",
    "1password-secret-key-2": "A3- u6 - u6 - u5 - u5 - u5 - u5",
    "1password-service-account-token": "ops_eyJ b250",
    "adobe-client-secret": "p8e- l32",
    "age-secret-key": "AGE-SECRET-KEY-1 u58",
    "alibaba-access-key-id": "LTAI l20",
    "anthropic-admin-api-key": "sk-ant-admin01- w93 AA",
    "anthropic-api-key": "sk-ant-api03- w93 AA",
    "artifactory-api-key": "AKCp a69",
    "artifactory-reference-token": "cmVmd a59",
    "atlassian-api-token": "ATATT3 w186",
    "authress-service-client-access-key": "sc_ l12 . l5 .acc_ l20 . l60",
    "aws-access-token": "AKIA u16",
    "aws-access-token-asia": "ASIA u16",
    "aws-access-token-digits": "AKIA 0189 u12",
    "azure-ad-client-secret": "a3 8Q~ w31",
    "clickhouse-cloud-api-secret-key": "4b1d a38",
    "clojars-api-token": "CLOJARS_ l60",
    "cloudflare-origin-ca-key": "v1.0- h24 - h146",
    "databricks-api-token": "dapi h32",
    "defined-networking-api-token": "dnkey- l26 - l52",
    "digitalocean-access-token": "doo_v1_ h64",
    "digitalocean-pat": "dop_v1_ h64",
    "digitalocean-refresh-token": "dor_v1_ h64",
    "doppler-api-token": "dp.pt. l43",
    "dropbox-short-lived-api-token": "sl. w135",
    "duffel-api-token": "duffel_test_ w43",
    "dynatrace-api-token": "dt0c01. l24 . l64",
    "easypost-api-token": "EZAK l54",
    "easypost-test-api-token": "EZTK l54",
    "facebook-page-access-token": "EAAM a110",
    "flutterwave-encryption-key": "FLWSECK_TEST- h12",
    "flutterwave-public-key": "FLWPUBK_TEST- h32 -X",
    "flutterwave-secret-key": "FLWSECK_TEST- h32 -X",
    "flyio-access-token": "fo1_ w43",
    "flyio-access-token-fm1": "fm1r_ b100",
    "flyio-access-token-fm2": "fm2_ b100",
    "frameio-api-token": "fio-u- w64",
    "gcp-api-key": "AIza w35",
    "github-app-token": "ghu_ a36",
    "github-app-token-ghs": "ghs_ a36",
    "github-fine-grained-pat": "github_pat_ a22 _ a59",
    "github-oauth": "gho_ a36",
    "github-pat": "ghp_ a36",
    "github-refresh-token": "ghr_ a36",
    "gitlab-cicd-job-token": "glcbt- h2 _ w20",
    "gitlab-deploy-token": "gldt- w20",
    "gitlab-feature-flag-client-token": "glffct- w20",
    "gitlab-feed-token": "glft- w20",
    "gitlab-incoming-mail-token": "glimt- w25",
    "gitlab-kubernetes-agent-token": "glagent- w50",
    "gitlab-oauth-app-secret": "gloas- w64",
    "gitlab-pat": "glpat- w20",
    "gitlab-pat-routable": "glpat- w27 . l9",
    "gitlab-ptt": "glptt- h40",
    "gitlab-rrt": "GR1348941 w20",
    "gitlab-runner-authentication-token": "glrt- w20",
    "gitlab-runner-authentication-token-routable": "glrt-t3_ w27 . l9",
    "gitlab-scim-token": "glsoat- w20",
    "gitlab-session-cookie": "_gitlab_session= l32",
    "grafana-api-key": "eyJrIjoi a90",
    "grafana-cloud-api-token": "glc_ b60",
    "grafana-service-account-token": "glsa_ a32 _ h8",
    "harness-api-key": "pat. w22 . a24 . a20",
    "hashicorp-tf-api-token": "a14 .atlasv1. w64",
    "heroku-api-key-v2": "HRKU-AA w58",
    "huggingface-access-token": "hf_ z34",
    "huggingface-organization-api-token": "api_org_ z34",
    "infracost-api-token": "ico- a32",
    "intra42-client-secret": "s-s4t2ud- h64",
    "jwt": "eyJ a33 .eyJ w60 . w43",
    "jwt-base64": "ZXlKaGJHY2lPaUp b90",
    "linear-api-key": "lin_api_ l40",
    "maxmind-license-key": "a6 _ a29 _mmk",
    "notion-api-token": "ntn_ d11 a35",
    "npm-access-token": "npm_ a36",
    "octopus-deploy-api-key": "API- u26",
    "openai-api-key": "sk- a20 T3BlbkFJ a20",
    "openai-api-key-project": "sk-proj- w74 T3BlbkFJ w74",
    "openai-api-key-service": "sk-svcacct- w58 T3BlbkFJ w58",
    "openshift-user-token": "sha256~ w43",
    "perplexity-api-key": "pplx- a48",
    "planetscale-api-token": "pscale_tkn_ w43",
    "planetscale-oauth-token": "pscale_oauth_ w43",
    "planetscale-password": "pscale_pw_ w43",
    "postman-api-token": "PMAK- h24 - h34",
    "prefect-api-token": "pnu_ a36",
    "pulumi-api-token": "pul- h40",
    "pypi-upload-token": "pypi-AgEIcHlwaS5vcmc w80",
    "readme-api-token": "rdme_ l70",
    "rubygems-api-token": "rubygems_ h48",
    "scalingo-api-token": "tk-us- w48",
    "sendgrid-api-token": "SG. w22 . w43",
    "sendinblue-api-token": "xkeysib- h64 - l16",
    "sentry-org-token": "sntrys_eyJpYXQiO a60 LCJyZWdpb25fdXJs a60 _ b43",
    "sentry-user-token": "sntryu_ h64",
    "settlemint-application-access-token": "sm_aat_ a16",
    "settlemint-personal-access-token": "sm_pat_ a16",
    "settlemint-service-access-token": "sm_sat_ a16",
    "shippo-api-token": "shippo_live_ h40",
    "shopify-access-token": "shpat_ h32",
    "shopify-custom-access-token": "shpca_ h32",
    "shopify-private-app-access-token": "shppa_ h32",
    "shopify-shared-secret": "shpss_ h32",
    "slack-app-token": "xapp-1- u11 - d13 - h64",
    "slack-bot-token": "xoxb- d12 - d12 - a24",
    "slack-config-access-token": "xoxe.xoxp-1- u165",
    "slack-config-refresh-token": "xoxe-1- u146",
    "slack-legacy-bot-token": "xoxb- d10 - a24",
    "slack-legacy-token": "xoxs- d11 - d11 - d11 - h10",
    "slack-legacy-workspace-token": "xoxa-2- a32",
    "slack-user-token": "xoxp- d12 - d12 - d12 - h32",
    "sourcegraph-access-token": "sgp_ h16 _ h40",
    "square-access-token": "sq0atp- w22",
    "square-access-token-eaaa": "EAAA w60",
    "stripe-access-token": "sk_live_ a24",
    "stripe-access-token-test": "rk_test_ a99",
    "telegram-bot-api-token": "d10 :A w34",
    "twilio-api-key": "SK h32",
    "typeform-api-token": "tfp_ a44 _ a14",
    "vault-batch-token": "hvb. w150",
    "vault-service-token": "hvs. w95",
    # Not gitleaks', but as the vendors tell
    "discord-bot-token": "MTE4NTYw a18 . w6 . w38",
    "slack-cookie": "xoxd- a40 %2B a40 %3D",
    "openrouter": "sk-or-v1- h64",
    "deepseek": "sk- h32",
    "xai": "xai- a80",
    "groq": "gsk_ a52",
    "replicate": "r8_ a37",
    "docker-pat": "dckr_pat_ w27",
    "notion-old": "secret_ a43",
    "supabase": "sbp_ h40",
    "new-relic-user-key": "NRAK- u27",
    "mailgun": "key- h32",
    "mailchimp": "h32 -us12",
    "mapbox": "pk.eyJ1 a80 . w22",
    "tailscale": "tskey-auth- a12 CNTRL- a32",
    "figma": "figd_ w40",
    "netlify": "nfp_ a36",
    "nvidia": "nvapi- w64",
    "google-oauth-secret": "GOCSPX- w28",
    "google-oauth-token": "ya29. w120",
    "aws-bedrock": "ABSK b132",
    "bitbucket-app-password": "ATBB a32",
    "contentful": "CFPAT- w43",
    "resend": "re_ a8 _ a24",
    "stripe-webhook": "whsec_ a32",
    "atlasv1-user": "a14 .atlasv1. a67",
}
# As gitleaks has them: what only the vendor's name beside it tells. The name, and the secret.
NAMED = {
    "adafruit-api-key": ("adafruit_api_key", "l32"),
    "adobe-client-id": ("adobe_client_id", "h32"),
    "airtable-api-key": ("AIRTABLE_API_KEY", "l17"),
    "algolia-api-key": ("algolia_api_key", "l32"),
    "alibaba-secret-key": ("ALIBABA_SECRET_KEY", "l30"),
    "asana-client-id": ("ASANA_CLIENT_ID", "d16"),
    "asana-client-secret": ("asana_client_secret", "l32"),
    "atlassian-api-token-old": ("JIRA_API_TOKEN", "l20 h4"),
    "beamer-api-token": ("beamer_api_token", "b_ w44"),
    "bitbucket-client-id": ("bitbucket_client_id", "l32"),
    "bitbucket-client-secret": ("BITBUCKET_CLIENT_SECRET", "w64"),
    "bittrex-access-key": ("bittrex_access_key", "l32"),
    "bittrex-secret-key": ("bittrex_secret_key", "l32"),
    "cisco-meraki-api-key": ("MERAKI_API_KEY", "h40"),
    "cloudflare-api-key": ("CLOUDFLARE_API_TOKEN", "w40"),
    "cloudflare-global-api-key": ("cloudflare_global_api_key", "h37"),
    "codecov-access-token": ("CODECOV_TOKEN", "l32"),
    "cohere-api-token": ("CO_API_KEY", "a40"),
    "coinbase-access-token": ("coinbase_access_token", "w64"),
    "confluent-access-token": ("confluent_access_token", "l16"),
    "confluent-secret-key": ("confluent_secret_key", "l64"),
    "contentful-delivery-api-token": ("contentful_delivery_token", "w43"),
    "database-password": ("db_password", "a12"),
    "datadog-access-token": ("DATADOG_API_KEY", "l40"),
    "discord-api-token": ("discord_api_token", "h64"),
    "discord-client-id": ("DISCORD_CLIENT_ID", "d18"),
    "discord-client-secret": ("discord_client_secret", "w32"),
    "droneci-access-token": ("droneci_access_token", "l32"),
    "dropbox-api-token": ("dropbox_api_token", "l15"),
    "dropbox-long-lived-api-token": ("dropbox_token", "l11 AAAAAAAAAA w43"),
    "etsy-access-token": ("ETSY_ACCESS_TOKEN", "l24"),
    "facebook-access-token": ("facebook_access_token", "d15 | w30"),
    "facebook-secret": ("FACEBOOK_APP_SECRET", "h32"),
    "fastly-api-token": ("fastly_api_token", "w32"),
    "finicity-api-token": ("finicity_api_token", "h32"),
    "finicity-client-secret": ("finicity_client_secret", "l20"),
    "finnhub-access-token": ("finnhub_token", "l20"),
    "flickr-access-token": ("flickr_access_token", "l32"),
    "freemius-secret-key": ("'secret_key' => 'sk_{}'", "w29"),
    "freshbooks-access-token": ("freshbooks_access_token", "l64"),
    "generic-api-key": ("myService.apiKey", "l20"),
    "gitter-access-token": ("gitter_token", "w40"),
    "gocardless-api-token": ("gocardless_token", "live_ w40"),
    "hashicorp-tf-password": ("administrator_login_password", "w16"),
    "heroku-api-key": ("HEROKU_API_KEY", UUID),
    "hubspot-api-key": ("hubspot_api_key", UUID),
    "intercom-api-key": ("intercom_api_key", "w60"),
    "jfrog-api-key": ("artifactory_api_key", "l73"),
    "jfrog-identity-token": ("jfrog_identity_token", "l64"),
    "kraken-access-token": ("kraken_access_token", "b85"),
    "kucoin-access-token": ("kucoin_access_token", "h24"),
    "kucoin-secret-key": ("kucoin_secret_key", UUID),
    "launchdarkly-access-token": ("launchdarkly_access_token", "w40"),
    "linear-client-secret": ("linear_client_secret", "h32"),
    "linkedin-client-id": ("LINKEDIN_CLIENT_ID", "l14"),
    "linkedin-client-secret": ("linkedin_client_secret", "l16"),
    "lob-api-key": ("lob_api_key", "live_ h35"),
    "lob-pub-api-key": ("lob_pub_key", "test_pub_ h31"),
    "mailchimp-api-key": ("MAILCHIMP_API_KEY", "h32 -us11"),
    "mailgun-private-api-token": ("mailgun_api_key", "key- h32"),
    "mailgun-pub-key": ("mailgun_pub_key", "pubkey- h32"),
    "mailgun-signing-key": ("mailgun_signing_key", "h32 - h8 - h8"),
    "mapbox-api-token": ("mapbox_token", "pk. l60 . l22"),
    "mattermost-access-token": ("mattermost_access_token", "l26"),
    "messagebird-api-token": ("messagebird_api_token", "l25"),
    "messagebird-client-id": ("messagebird_client_id", UUID),
    "netlify-access-token": ("netlify_access_token", "w43"),
    "new-relic-browser-api-token": ("new_relic_browser_key", "NRJS- h19"),
    "new-relic-insert-key": ("new_relic_insert_key", "NRII- l32"),
    "new-relic-user-api-id": ("new_relic_api_id_key", "l64"),
    "new-relic-user-api-key": ("new_relic_api_key", "NRAK- l27"),
    "nytimes-access-token": ("nytimes_api_key", "w32"),
    "okta-access-token": ("OKTA_API_TOKEN", "00 w40"),
    "plaid-api-token": ("plaid_access_token", f"access-sandbox- {UUID}"),
    "plaid-client-id": ("PLAID_CLIENT_ID", "l24"),
    "plaid-secret-key": ("PLAID_SECRET", "l30"),
    "privateai-api-token": ("privateai_api_key", "l32"),
    "rapidapi-access-token": ("rapidapi_key", "w50"),
    "sendbird-access-id": ("sendbird_access_id", UUID),
    "sendbird-access-token": ("sendbird_access_token", "h40"),
    "sentry-access-token": ("SENTRY_AUTH_TOKEN", "h64"),
    "snyk-api-token": ("SNYK_TOKEN", UUID),
    "sonar-api-token": ("SONAR_TOKEN", "w40"),
    "squarespace-access-token": ("squarespace_access_token", UUID),
    "sumologic-access-id": ("SUMO_ACCESS_ID", "su a12"),
    "sumologic-access-token": ("sumo_access_key", "l64"),
    "telegram-named": ("TELEGRAM_TOKEN", "d9 :A w34"),
    "travisci-access-token": ("travis_token", "l22"),
    "twitch-api-token": ("twitch_token", "l30"),
    "twitter-access-secret": ("twitter_access_secret", "l45"),
    "twitter-access-token": ("TWITTER_ACCESS_TOKEN", "d18 - a30"),
    "twitter-api-key": ("TWITTER_API_KEY", "l25"),
    "twitter-api-secret": ("twitter_api_secret", "l50"),
    "twitter-bearer-token": ("twitter_bearer_token", "AAAAAAAAAAAAAAAAAAAAAA a80"),
    "vault-service-token-old": ("VAULT_TOKEN", "s. a24"),
    "yandex-access-token": ("yandex_access_token", "t1. w20 . w86"),
    "yandex-api-key": ("yandex_api_key", "AQVN w36"),
    "yandex-aws-access-token": ("yandex_aws_secret_key", "YC w38"),
    "zendesk-secret-key": ("zendesk_secret_key", "l40"),
}
ASSIGNED = ("{name}={}", '{name} = "{}"', "{name}: '{}'", '"{name}": "{}"', "{name} => '{}'", "{name} := `{}`")

KEY = "\n".join(base64.b64encode(R.randbytes(48)).decode() for _ in range(6))


def block(sort: str) -> str:
    """A private key as PEM."""
    return f"-----BEGIN {sort}PRIVATE {'KEY'}-----\n{KEY}\n-----END {sort}PRIVATE {'KEY'}-----"


def basic(user: str, password: str) -> str:
    return base64.b64encode(f"{user}:{password}".encode()).decode()


def _forms() -> list[Kind]:
    """Secrets that are told by what stands around them."""

    def p() -> str:
        return build("z1 a9 d1")

    return [
        Kind("curl-auth-header", build("a30"), 'curl -H "Authorization: Bearer {}" https://api.example'),
        Kind("curl-auth-header-basic", basic("maria", p()), "curl -H 'authorization: Basic {}' x"),
        Kind("curl-auth-header-token", build("h40"), "curl --header 'Authorization: Token {}' x"),
        Kind("curl-auth-header-key", build("a24"), "curl -H 'X-Api-Key: {}' x"),
        Kind("curl-auth-user", p(), "curl -s -u maria:{} https://api.example/v1"),
        Kind("curl-auth-user-long", p(), "curl --user 'maria:{}' https://api.example/v1"),
        Kind("kubernetes-secret-yaml", base64.b64encode(p().encode()).decode(), "kind: Secret\ndata:\n  lamp: {}\n"),
        Kind("nuget-config-password", p(), '<add key="ClearTextPassword" value="{}" />'),
        Kind("sidekiq-secret", build("h8 : h8"), "BUNDLE_ENTERPRISE__CONTRIBSYS__COM={}"),
        Kind("sidekiq-sensitive-url", build("h8 : h8").partition(":")[2], "https://deadbee5:{}@gems.contribsys.com/"),
        Kind("slack-webhook-url", build("u9 / u11 / a24"), "https://hooks.slack.com/services/T{}"),
        Kind(
            "microsoft-teams-webhook",
            build(f"{UUID} @ {UUID} /IncomingWebhook/ l32 / {UUID}"),
            "https://lamps.webhook.office.com/webhookb2/{}",
        ),
        Kind("discord-webhook", build("w68"), "https://discord.com/api/webhooks/123456789012345678/{}"),
        Kind("private-key", block("RSA ")),
        Kind("private-key-openssh", block("OPENSSH ")),
        Kind("private-key-pkcs8", block("")),
        Kind("private-key-encrypted", block("ENCRYPTED ")),
        Kind("private-key-pgp", block("PGP ").replace(f"{'KEY'}-----", f"{'KEY'} BLOCK-----")),
        Kind("private-key-escaped", block("EC ").replace("\n", "\\n"), '{"private_key": "{}"}'),
        Kind("private-key-base64", base64.b64encode(block("RSA ").encode()).decode(), "client-key-data: {}"),
        Kind("url-password", p(), "postgres://app:{}@db.internal:5432/shop"),
        Kind("url-password-at", f"{p()}@{p()}", "postgres://app:{}@db.internal/shop"),
        Kind("url-password-slash", f"{p()}/{p()}", "mongodb+srv://app:{}@cluster.mongodb.net/?retryWrites=true"),
        Kind("url-token", p() + p(), "https://oauth2:{}@git.internal/a/b.git"),
        Kind("authorization-basic", basic("maria", p()), "Authorization: Basic {}"),
        Kind("authorization-json", basic("maria", p()), '{"Authorization": "Basic {}"}'),
        Kind("authorization-raw", build("a40"), "authorization: {}"),
        Kind("bearer-letters", build("z40"), "Authorization: Bearer {}"),
        Kind("cookie", build("l32"), "Cookie: theme=dark; session={}; lang=en"),
        Kind("set-cookie", build("a40"), "Set-Cookie: sid={}; Path=/; HttpOnly"),
        Kind("cookie-curl", build("a40"), "curl -b 'sid={}' https://x.example"),
        Kind("netrc", p(), "machine api.example login maria password {}"),
        Kind("netrc-lines", p(), "machine api.example\n  login maria\n  password {}\n"),
        Kind("mysql", p(), "mysql -h db -u root -p{} shop"),
        Kind("mysqldump", p(), "mysqldump -uroot -p'{}' shop > dump.sql"),
        Kind("sshpass", p(), "sshpass -p '{}' ssh root@box"),
        Kind("sshpass-plain", p(), "sshpass -p {} scp a root@box:"),
        Kind("redis-cli", p(), "redis-cli -h cache -a {} ping"),
        Kind("docker-login", p(), "docker login -u maria -p {} registry.example"),
        Kind("docker-auth", basic("maria", p()), '{"auths": {"registry.example": {"auth": "{}"}}}'),
        Kind("npmrc-auth", basic("maria", p()), "//registry.example/:_auth={}"),
        Kind("npmrc-token", build("a36"), "//registry.example/:_authToken={}"),
        Kind("sas", build("a20 %2B a20 %3D"), "https://lamps.blob.core.windows.net/a?sv=2022-11-02&se=2026&sr=b&sig={}"),
        Kind("sas-escaped", build("a20 %2F a20 %3D"), "a?sv=2022-11-02\\u0026sig={}"),
        Kind("account-key", build("b86") + "==", "AccountName=lamps;AccountKey={};EndpointSuffix=core"),
        Kind("connection-string", p(), "Server=db;User Id=sa;Password={};Encrypt=true"),
        Kind("pgpass", p(), "db.internal:5432:shop:app:{}"),
        Kind("openssl-pass", p(), "openssl rsa -in a -passin pass:{}"),
        Kind("aws-secret", build("b40"), "AWS_SECRET_ACCESS_KEY={}"),
        Kind("aws-secret-config", build("b40"), "aws_secret_access_key = {}"),
        Kind("name-goes-on", build("a24"), "STRIPE_SECRET_LIVE={}"),
        Kind("name-numbered", build("a24"), "API_KEY_2={}"),
        Kind("name-pass", p(), "DB_PASS={}"),
        Kind("name-pass-word", "swordfishes", "DB_PASS={}"),
        Kind("name-base", build("h128"), "SECRET_KEY_BASE={}"),
        Kind("name-password-letters", build("z16"), "export ADMIN_PASSWORD={}"),
        Kind("name-secret-letters", build("s24"), 'client_secret: "{}"'),
        Kind("name-key-letters", build("z32"), "API_KEY={}"),
        Kind("name-token-letters", build("z32"), '"access_token": "{}"'),
        Kind("name-and-value", build("a24"), '{"name": "API_KEY", "value": "{}"}'),
        Kind("name-and-value-yaml", build("a24"), "- name: API_KEY\n  value: {}\n"),
        Kind("value-and-name", build("a24"), '{"value": "{}", "name": "API_KEY"}'),
        Kind("xml", p(), "<password>{}</password>"),
        Kind("flag", build("a24"), "deploy --api-key {} --region eu"),
        Kind("flag-password", p(), "--password {} --user me"),
        Kind("query", build("a24"), "https://api.example/v1?api_key={}&page=2"),
        Kind("camel", build("a24"), "const apiKey = '{}';"),
        Kind("typed", p(), 'password: str = "{}"'),
        Kind("subscript", build("a24"), 'os.environ["SERVICE_TOKEN"] = "{}"'),
        Kind("pair", build("a24"), "('api_key', '{}')"),
        Kind("escaped-quotes", p(), '\\u0022password\\u0022:\\u0022{}\\u0022'),
        Kind("entities", p(), "password=&quot;{}&quot;"),
        Kind("is", p(), "the password is {}, as before"),
    ]  # fmt: skip


def kinds() -> list[Kind]:
    """All kinds, each with a secret of its own."""
    looks = [Kind(name, build(told)) for name, told in LOOKS.items()]
    named = []
    for number, (name, (key, told)) in enumerate(NAMED.items()):
        form = key if "{}" in key else ASSIGNED[number % len(ASSIGNED)].replace("{name}", key)
        named.append(Kind(name, build(told), form))
    return [*looks, *named, *_forms()]


KINDS = kinds()
