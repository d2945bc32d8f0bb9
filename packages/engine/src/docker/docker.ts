/** The verbs of the Docker Engine API that the engine uses. One object per daemon; safe for concurrent use. */

export interface DockerOptions {
  /** Settings as the docker CLI reads them: DOCKER_HOST, DOCKER_CONTEXT, DOCKER_TLS_VERIFY, DOCKER_CERT_PATH, DOCKER_CONFIG, HOME. */
  readonly env: Readonly<Record<string, string | undefined>>
}

export interface Docker {
  /** Where the daemon listens, for messages. */
  readonly host: string
  close(): void
}
