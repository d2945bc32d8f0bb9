/** The commands that connect a cluster. Pure. */

export type Way = 'wizard' | 'helm'

/** Name of the file that the commands read the key from. */
export const KEY_FILE = 'key.txt'

interface Connection {
  /** Address at which pods of the cluster reach the server. */
  readonly url: string
  /** Name of the cluster, which names agent and runtime. */
  readonly cluster: string
  readonly namespace: string
}

/** Returns the name of the agent, as the wizard gets it and the chart makes it. */
export function agentName({ cluster, namespace }: Pick<Connection, 'cluster' | 'namespace'>): string {
  return `${cluster}_${namespace}`
}

/** Returns the commands in their order. They need the key in `KEY_FILE`. */
export function connectCommands(way: Way, connection: Connection): string[] {
  const { url, cluster, namespace } = connection
  if (way === 'wizard')
    return [
      `windlass runner init --url ${url} --token-file ${KEY_FILE} --name ${agentName(connection)} --runtime-name ${cluster}/${namespace} --kube-namespace ${namespace}`,
    ]
  return [
    `kubectl create namespace ${namespace}`,
    `kubectl label namespace ${namespace} pod-security.kubernetes.io/enforce=privileged`,
    `kubectl -n ${namespace} create secret generic windlass-api-key --from-file=key=${KEY_FILE}`,
    [
      `helm upgrade --install runner charts/windlass-runtime --namespace ${namespace}`,
      `--set global.codefreshHost=${url},global.context=${cluster}`,
      '--set global.codefreshTokenSecretKeyRef.name=windlass-api-key,global.codefreshTokenSecretKeyRef.key=key',
    ].join(' '),
    `helm test runner --namespace ${namespace}`,
  ]
}

/** Returns true for an address that pods of a cluster cannot reach. */
export function isLoopback(url: string): boolean {
  const { hostname } = new URL(url)
  return hostname === 'localhost' || hostname.endsWith('.localhost') || hostname.startsWith('127.') || hostname === '[::1]'
}

/** Returns what is wrong with the name of a cluster or a namespace, which commands contain as it is. */
export function nameProblem(name: string): string | undefined {
  return /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(name)
    ? undefined
    : 'Use lower-case letters, digits and hyphens, with a letter or digit at both ends.'
}
