import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { silentLog } from '@windlass/kit'
import { openKube, readKubeconfig } from '@windlass/kube'
import { runProgram } from './process.ts'

/** The address at which pods reach this machine. The cluster has no DNS. */
export const CLUSTER_HOST = '10.244.0.1'

export interface PodRef {
  readonly namespace: string
  readonly name: string
  /** Needed for a pod with several containers. */
  readonly container?: string
}

export type Cluster = {
  /** Path of the administrator's kubeconfig. */
  readonly kubeconfig: string
  readonly host: string
  kubectl(...args: string[]): Promise<string>
  /** Runs a command in a container and returns its trimmed stdout. Throws with its stderr if it fails. */
  exec(pod: PodRef, ...command: string[]): Promise<string>
  /** Creates or updates objects, as `kubectl apply` does. */
  apply(...objects: object[]): Promise<void>
  /** Copies images from the Docker daemon into the node. Skips images that did not change. */
  load(...images: string[]): Promise<void>
  down(): Promise<void>
}

/** Starts the one-node Kubernetes of `scripts/cluster`, or uses the running one. A start takes about ten seconds. */
export async function startCluster(): Promise<Cluster> {
  const script = fileURLToPath(new URL('../../scripts/cluster', import.meta.url))
  await runProgram(script, ['up'])
  const line = await runProgram(script, ['env'])
  const found = /KUBECONFIG=(\S+) PATH=([^:]+):/.exec(line)
  if (found?.[1] === undefined) throw new Error(`scripts/cluster env said: ${line}`)
  const [, kubeconfig, programs = ''] = found
  const kubectl = (args: string[], input?: string): Promise<string> =>
    runProgram(`${programs}/kubectl`, ['--kubeconfig', kubeconfig, ...args], input === undefined ? {} : { input })
  return {
    kubeconfig,
    host: CLUSTER_HOST,
    kubectl: (...args) => kubectl(args),
    exec: (pod, ...command) => execute(kubeconfig, pod, command),
    apply: async (...items) =>
      void (await kubectl(['apply', '--filename', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))),
    load: async (...images) => void (await runProgram(script, ['load', ...images])),
    down: async () => void (await runProgram(script, ['down'])),
  }
}

async function execute(kubeconfig: string, { namespace, name, container }: PodRef, command: string[]): Promise<string> {
  const kube = openKube({ access: await readKubeconfig(kubeconfig), log: silentLog })
  try {
    const { stdout, stderr, exit } = await kube.exec({ kind: 'Pod', namespace, name }, { command, container })
    const [output, errors, code] = await Promise.all([text(stdout), text(stderr), exit])
    if (code !== 0) throw new Error(`${command.join(' ')} in ${name} exited with ${code}: ${errors}`)
    return output.trim()
  } finally {
    kube.close()
  }
}
