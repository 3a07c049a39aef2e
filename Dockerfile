# One image for every part: `cogitate …`, `celery -A cogitate worker`, `celery -A cogitate flower`.
FROM python:3.11.14-slim

RUN useradd --create-home --uid 1000 cogitate && install -d -o cogitate /data
WORKDIR /app

# The dependencies first, with those of `cogitate gateway` and of telemetry, so that a change of our code does not install them again.
COPY pyproject.toml README.md constraints.txt ./
RUN python -c "import tomllib; project = tomllib.load(open('pyproject.toml', 'rb'))['project']; \
      print('\n'.join(project['dependencies'] + project['optional-dependencies']['gateway'] \
                      + project['optional-dependencies']['telemetry']))" > requirements.txt \
    && pip install --no-cache-dir -r requirements.txt -c constraints.txt

COPY cogitate_pytest.py celeryconfig.py ./
COPY cogitate cogitate
COPY prompts prompts
COPY memory memory
COPY tasks tasks
COPY scheduler scheduler
COPY workers workers
COPY hosting hosting
COPY simulation simulation
COPY ops ops
RUN pip install --no-cache-dir --no-deps .

USER cogitate
WORKDIR /data
ENTRYPOINT ["sh", "/app/ops/container/start.sh"]
ENV COGITATE_DATA_DIR=/data PYTHONUNBUFFERED=1

CMD ["celery", "-A", "cogitate", "worker", "--loglevel", "info"]
