# A classroom image: the book with the environment of requirements.lock, for JupyterHub or one machine.
#     docker build -t gpt2-exercise-book .
#     docker run --rm -p 127.0.0.1:8888:8888 -v gpt2-book:/home/learner/chapters gpt2-exercise-book
# The volume keeps the learner's notebooks; `book start` never writes over what they have changed. `book grade` needs a
# container in which bubblewrap may make namespaces, so grade on a plain Linux machine.
FROM python:3.11-slim-bookworm

RUN apt-get update \
    && apt-get install -y --no-install-recommends make git bubblewrap fonts-dejavu-core \
    && rm -rf /var/lib/apt/lists/*
RUN useradd --create-home learner

WORKDIR /opt/book
COPY requirements.lock requirements-modern.lock ./
RUN pip install --no-cache-dir -r requirements.lock \
    && pip install --no-cache-dir --no-deps -r requirements-modern.lock

COPY . .
RUN pip install --no-cache-dir --no-deps --no-build-isolation .

USER learner
WORKDIR /home/learner
RUN book start chapters
WORKDIR /home/learner/chapters
EXPOSE 8888
CMD ["sh", "-c", "book start . && exec book lab -- --no-browser --ip=0.0.0.0 --port=8888"]
