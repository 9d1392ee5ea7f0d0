"""The remote store behaves as the embedded one, over servers that these tests start."""

from collections.abc import Iterator

import pytest
from typing_extensions import override

from shiyi.settings import RemoteSettings
from shiyi.sparql.remote.store import RemoteStore
from shiyi.sparql.store.port import QuadStore
from tests.contracts import QuadStoreContract
from tests.support.remote_servers import oxigraph, virtuoso

Server = tuple[str, RemoteSettings]


@pytest.fixture(scope="module")
def oxigraph_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with oxigraph(tmp_path_factory.mktemp("oxigraph") / "store") as server:
        yield server


@pytest.fixture(scope="module")
def virtuoso_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with virtuoso(tmp_path_factory.mktemp("virtuoso") / "db") as server:
        yield server


class TestOxigraphServer(QuadStoreContract):
    @pytest.fixture(autouse=True)
    def _server(self, oxigraph_server: Server) -> Iterator[None]:
        self.remote = RemoteStore(*oxigraph_server)
        self.remote.endpoint.update("DROP ALL")
        yield
        self.remote.close()

    @override
    def store(self) -> QuadStore:
        return self.remote


class TestVirtuoso(QuadStoreContract):
    @pytest.fixture(autouse=True)
    def _server(self, virtuoso_server: Server) -> Iterator[None]:
        self.remote = RemoteStore(*virtuoso_server)
        self.remote.change(remove=list(self.remote.match()))
        yield
        self.remote.close()

    @override
    def store(self) -> QuadStore:
        return self.remote
