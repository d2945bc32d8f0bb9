import { fileURLToPath } from 'node:url'
import { runProgram } from './process.ts'

/** The address at which pods reach this machine: there is no DNS in the cluster. */
export const CLUSTER_HOST = '10.244.0.1'

export type Cluster = {
  /** Path of the administrator's kubeconfig. */
  readonly kubeconfig: string
  readonly host: string
  kubectl(...args: string[]): Promise<string>
  /** Creates or changes objects, as `kubectl apply` does. */
  apply(...objects: object[]): Promise<void>
  /** Copies images from the Docker daemon into the node; those that did not change are skipped. */
  load(...images: string[]): Promise<void>
  down(): Promise<void>
}

/** Starts the one-node Kubernetes of `scripts/cluster`, or takes the one that is up. Ten seconds, or none. */
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
    apply: async (...items) =>
      void (await kubectl(['apply', '--filename', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))),
    load: async (...images) => void (await runProgram(script, ['load', ...images])),
    down: async () => void (await runProgram(script, ['down'])),
  }
}
