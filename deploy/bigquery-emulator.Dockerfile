# A local stand-in for BigQuery, for trying callsync out. Not the real service: no quotas, no cost, no partition checks.
FROM python:3.11-slim-bookworm
RUN pip install --no-cache-dir bqemulator==1.4.0 duckdb==1.5.5 duckdb-extension-spatial==1.5.5 numpy
RUN useradd --create-home emulator && install --directory --owner=emulator --group=emulator /data
USER emulator
# DuckDB would fetch this extension at its first start; the wheel has it inside.
RUN python -c "import duckdb, duckdb_extension_spatial as s, pathlib, shutil; \
p = duckdb.sql('PRAGMA platform').fetchone()[0]; \
t = pathlib.Path.home() / '.duckdb/extensions/v1.5.5' / p; t.mkdir(parents=True); \
shutil.copy(next(pathlib.Path(s.__path__[0]).rglob('spatial.duckdb_extension')), t)"
VOLUME /data
EXPOSE 9050 9060
ENTRYPOINT ["bqemulator", "start", "--rest-host", "0.0.0.0", "--grpc-host", "0.0.0.0", "--persistent", "--data-dir", "/data"]
CMD ["--project", "demo"]
