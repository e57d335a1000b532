"""Masking of secrets in texts and URLs."""

import httpx2
from hypothesis import given
from hypothesis import strategies as st

from adapters.http.secret_mask import SecretMask


@given(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=8, max_size=30).filter(lambda text: text.strip() == text)
)
def test_a_secret_is_masked_in_any_url_encoding(secret):
    mask = SecretMask([secret])
    url = httpx2.URL("http://x.example/path").copy_merge_params({"q": secret, "other": f"a{secret}b"})
    assert secret not in mask.url(url)
    assert secret not in mask.text(f"before {secret} after")
    assert url.params["q"] not in httpx2.URL(mask.url(url)).params.values()


def test_a_url_keeps_everything_but_its_secrets():
    url = httpx2.URL("https://user:pw@x.example/a?api_key=abc&page=2&Token=t#frag")
    assert SecretMask().url(url) == "https://x.example/a?api_key=***&page=2&Token=***"
