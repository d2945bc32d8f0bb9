/** Names of the Kubernetes objects of an attempt. The server renders them, and the agent accepts no others. */

/** Name of each object of an attempt. The Secret and the engine pod have the same name. */
export interface ObjectNames {
  readonly secret: string
  readonly claim: string
  readonly dind: string
  readonly engine: string
}

/** Returns the object names of an attempt. Attempt 1 has no suffix; later ones have `-retry-<attempt - 1>`. */
export function objectNames(buildId: string, attempt: number): ObjectNames {
  const suffix = attempt > 1 ? `${buildId}-retry-${attempt - 1}` : buildId
  return { secret: `engine-${suffix}`, claim: `pvc-dind-${suffix}`, dind: `dind-${suffix}`, engine: `engine-${suffix}` }
}

/** Keys of the Secret of an attempt. The pods mount them as files. */
export const SECRET_KEY = {
  bootstrap: 'bootstrap',
  serverCa: 'server-ca.pem',
  ca: 'ca.pem',
  clientCert: 'cert.pem',
  clientKey: 'key.pem',
  serverCert: 'server-cert.pem',
  serverKey: 'server-key.pem',
} as const

/** Secret with the long-lived certificate of the Docker daemons of a namespace. An installer creates it for runtimes of protocol v1. */
export const DAEMON_CERTIFICATE = 'codefresh-certs-server'
