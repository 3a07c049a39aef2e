import hashlib

import pytest

from cogitate.workers.llm.requests.hashing import hashed


@pytest.mark.parametrize("size", [0, 1, 2_047, 2_048, 4_094, 10_000])
def test_a_hash_in_parts_is_that_of_the_whole(size: int) -> None:
    content = bytes(number % 251 for number in range(size))
    assert hashed(content, 12).hexdigest() == hashlib.blake2b(content, digest_size=12).hexdigest()
