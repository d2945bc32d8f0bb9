import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { silentLog } from '@windlass/kit'
import {
  isAlreadyThere,
  isKind,
  KINDS,
  KubeObject,
  openKube,
  readKubeconfig,
  type ClusterAccess,
  type DeleteOptions,
  type Kube,
  type Selection,
} from '@windlass/kube'
import { eventually } from './eventually.ts'
import { runProgram } from './process.ts'

/** The address at which pods reach this machine. The cluster has no DNS. */
export const CLUSTER_HOST = '10.244.0.1'
/** Time in which a busy machine ends pods. Milliseconds. */
const CLEAR_MS = 60_000

export interface PodRef {
  readonly namespace: string
  readonly name: string
  /** Needed for a pod with several containers. */
  readonly container?: string
}

export type Cluster = {
  /** Path of the administrator's kubeconfig. */
  readonly kubeconfig: string
  /** Access of the administrator. */
  readonly access: ClusterAccess
  readonly host: string
  /**
   * Client of the administrator, for what a test asks again and again: a process of `kubectl` for each call takes a tenth of a second of processor time. Its
   * idle connections keep no process alive.
   */
  readonly kube: Kube
  kubectl(...args: string[]): Promise<string>
  /** Returns the names of objects. */
  names(selection: Omit<Selection, 'content'>): Promise<string[]>
  /** Deletes objects and waits until they are gone. Throws after a minute. */
  clear(selection: Omit<Selection, 'content'>, options?: Pick<DeleteOptions, 'graceSeconds'>): Promise<void>
  /** Runs a command in a container and returns its trimmed stdout. Throws with its stderr if it fails. */
  exec(pod: PodRef, ...command: string[]): Promise<string>
  /** Creates objects, and updates those that exist, as `kubectl apply` does. */
  apply(...objects: object[]): Promise<void>
  /** Copies images from the Docker daemon into the node. Skips images that did not change. */
  load(...images: string[]): Promise<void>
  down(): Promise<void>
}

/** The images on the node of the cluster that `scripts/test` started for this run, as references with commas between them. */
const prepared = process.env['WINDLASS_TEST_NODE_IMAGES']?.split(',')
const script = fileURLToPath(new URL('../../scripts/cluster', import.meta.url))

/**
 * Starts the one-node Kubernetes of `scripts/cluster`, or uses the running one. A start takes about ten seconds. The cluster of a run is not asked
 * whether it is up: that takes half a second of processor time per test file.
 */
export async function startCluster(): Promise<Cluster> {
  if (prepared === undefined) await runProgram(script, ['up'])
  const { kubeconfig, program } = await findPrograms()
  const kubectl = (args: string[], input?: string): Promise<string> =>
    runProgram(program, ['--kubeconfig', kubeconfig, ...args], input === undefined ? {} : { input })
  const access = await readKubeconfig(kubeconfig)
  const kube = openKube({ access, log: silentLog })
  const names = async (selection: Omit<Selection, 'content'>): Promise<string[]> =>
    (await kube.list({ ...selection, content: 'metadata' })).map(({ metadata }) => metadata.name)
  return {
    kubeconfig,
    access,
    host: CLUSTER_HOST,
    kube,
    kubectl: (...args) => kubectl(args),
    names,
    async clear(selection, options) {
      const { kind, namespace } = selection
      for (const name of await names(selection)) await kube.delete({ kind, namespace, name }, options)
      const areGone = async (): Promise<true | undefined> => ((await names(selection)).length === 0 ? true : undefined)
      await eventually(`no ${kind} is left`, areGone, CLEAR_MS)
    },
    exec: (pod, ...command) => execute(kube, pod, command),
    async apply(...objects) {
      const items: object[] = []
      for (const object of objects) if (!(await isCreated(kube, object))) items.push(object)
      if (items.length === 0) return
      await kubectl(['apply', '--filename', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
    },
    async load(...images) {
      if (!images.every((image) => prepared?.includes(image) === true)) await runProgram(script, ['load', ...images])
    },
    down: async () => void (await runProgram(script, ['down'])),
  }
}

/** Returns the kubeconfig of the administrator and the path of `kubectl`. */
async function findPrograms(): Promise<{ kubeconfig: string; program: string }> {
  const { KUBECONFIG: known } = process.env
  // The environment of the run is that of `scripts/cluster env`.
  if (prepared !== undefined && known !== undefined) return { kubeconfig: known, program: 'kubectl' }
  const line = await runProgram(script, ['env'])
  const [, kubeconfig, folder = ''] = /KUBECONFIG=(\S+) PATH=([^:]+):/.exec(line) ?? []
  if (kubeconfig === undefined) throw new Error(`scripts/cluster env said: ${line}`)
  return { kubeconfig, program: `${folder}/kubectl` }
}

/** Returns the folder with the programs of Kubernetes. */
export async function kubernetesPrograms(): Promise<string> {
  const folder = / PATH=([^:]+):/.exec(await runProgram(script, ['env']))?.[1]
  if (folder === undefined) throw new Error('scripts/cluster env names no folder of programs')
  return folder
}

/** Creates an object. Returns false if it exists, or if the client does not know its kind: then it is a matter of `kubectl apply`. */
async function isCreated(kube: Kube, item: object): Promise<boolean> {
  const object = KubeObject.parse(item)
  const place = isKind(object.kind) ? KINDS[object.kind] : undefined
  if (place?.apiVersion !== object.apiVersion || (place.namespaced && object.metadata.namespace === undefined)) return false
  try {
    await kube.create(object)
    return true
  } catch (error) {
    if (isAlreadyThere(error)) return false
    throw error
  }
}

/** Creates a namespace in which pods can be created: the API server refuses them until the namespace has its service account. */
export async function addNamespace({ apply, kubectl }: Pick<Cluster, 'apply' | 'kubectl'>, name: string): Promise<void> {
  await apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
  await kubectl('--namespace', name, 'wait', '--for=create', 'serviceaccount/default', '--timeout=180s')
}

async function execute(kube: Kube, { namespace, name, container }: PodRef, command: string[]): Promise<string> {
  const { stdout, stderr, exit } = await kube.exec({ kind: 'Pod', namespace, name }, { command, container })
  const [output, errors, code] = await Promise.all([text(stdout), text(stderr), exit])
  if (code !== 0) throw new Error(`${command.join(' ')} in ${name} exited with ${code}: ${errors}`)
  return output.trim()
}
