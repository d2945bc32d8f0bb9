/** A provisioner as a process with exactly the rights of `packages/volumes/rbac`, and helpers for claims and volumes. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { KubeObject } from '@windlass/kube'
import { NOTE, toVolume, type Volume } from '@windlass/volumes'
import { z } from 'zod'
import { writeKubeconfig } from '../../support/account.ts'
import { startCluster, type Cluster } from '../../support/cluster.ts'
import { ensureImages } from '../../support/images.ts'
import { eventually, restartable, type Restartable } from '../../support/installation.ts'
import { freePort } from '../../support/process.ts'
import { applyRoles } from '../../support/roles.ts'

const rbacFile = join(import.meta.dirname, '../../../packages/volumes/rbac/provisioner.yaml')
const ACCOUNT = 'volume-provisioner-runner'
const ROLE = 'windlass-volume-provisioner'
/** Duration of the lease of the provisioner: short, because tests wait for it after a kill, but not so short that a busy machine misses it. */
export const LEASE_SECONDS = 10

export interface ClaimOptions {
  readonly name: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly size?: string
  readonly className?: string
}

const ClaimState = z.looseObject({
  metadata: z.looseObject({ name: z.string(), uid: z.string() }),
  spec: z.looseObject({ volumeName: z.string().optional() }),
  status: z.looseObject({ phase: z.string() }),
})

export interface Stage extends AsyncDisposable {
  readonly cluster: Cluster
  readonly namespace: string
  readonly className: string
  /** `provisioner` of the class. */
  readonly provisionerName: string
  /** Folder of disks on the node, which is this machine. */
  readonly volumesDir: string
  readonly provisioner: Restartable
  readonly metricsUrl: string
  readonly images: Readonly<Record<string, string>>
  kubectl(...args: string[]): Promise<string>
  makeClass(
    name: string,
    options?: { parameters?: Record<string, string>; bindingMode?: string; provisioner?: string },
  ): Promise<void>
  /** Creates a claim as the server renders it. */
  claim(options: ClaimOptions): Promise<void>
  /**
   * Returns the volume of a claim once that is there and bound, and its disk belongs to the pool. A disk whose claim ends before that is
   * removed, not kept.
   */
  bound(name: string): Promise<Volume>
  /** Returns the names of the volumes of claims once all are bound. One call asks for all: a poll for each would take the processor from the provisioner. */
  allBound(names: readonly string[]): Promise<string[]>
  /** Deletes a claim and waits until its volume is free. */
  release(name: string): Promise<void>
  volume(name: string): Promise<Volume | undefined>
  /** Returns the events of a claim, newest last. */
  eventsOf(claim: string): Promise<string>
}

export interface StageOptions {
  readonly namespace: string
  readonly env?: Readonly<Record<string, string>>
  /** True if an installation has already created the namespace. */
  readonly isThere?: boolean
}

/** Installs the provisioner in a namespace; everything is removed on dispose. */
export async function openStage({ namespace, env = {}, isThere = false }: StageOptions): Promise<Stage> {
  const images = await ensureImages('shell', 'windlass')
  const cluster = await startCluster()
  await cluster.load(...Object.values(images))
  const folder = await mkdtemp(join(tmpdir(), `${namespace}-disks-`))
  const kubectl = (...args: string[]): Promise<string> => cluster.kubectl('--namespace', namespace, ...args)
  if (!isThere) await cluster.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  const kubeconfig = await installRights(cluster, { namespace, folder })
  const provisionerName = `codefresh.io/dind-volume-provisioner-runner-${namespace}`
  const className = `dind-local-volumes-runner-${namespace}`
  const volumesDir = join(folder, 'volumes')
  const classes: string[] = []
  const makeClass: Stage['makeClass'] = async (name, options = {}) => {
    if (!classes.includes(name)) classes.push(name)
    await cluster.apply({
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name },
      provisioner: options.provisioner ?? provisionerName,
      parameters: options.parameters ?? { volumeBackend: 'local', volumeParentDir: volumesDir },
      volumeBindingMode: options.bindingMode ?? 'Immediate',
    })
  }
  await makeClass(className)
  const port = await freePort()
  const settings = {
    WINDLASS_PROVISIONER_KUBECONFIG: kubeconfig,
    WINDLASS_PROVISIONER_PORT: String(port),
    WINDLASS_PROVISIONER_LEASE_SECONDS: String(LEASE_SECONDS),
    WINDLASS_PROVISIONER_RESYNC_SECONDS: '5',
    WINDLASS_PROVISIONER_HELPER_IMAGE: images['WINDLASS_IMAGE'] ?? '',
    PROVISIONER_NAME: provisionerName,
    ...env,
  }
  // It ends when it loses its lease.
  const provisioner = await restartable('provisioner', `http://127.0.0.1:${port}/readyz`, settings, { asPod: true })
  const { kube } = cluster
  const claimOf = async (name: string): Promise<z.infer<typeof ClaimState> | undefined> => {
    const found = await kube.find({ kind: 'PersistentVolumeClaim', namespace, name })
    return found && ClaimState.parse(found)
  }
  const volume = async (name: string): Promise<Volume | undefined> => {
    const found = await kube.find({ kind: 'PersistentVolume', name })
    return found && toVolume(found)
  }
  const orWithLog = (error: unknown): never => {
    throw new Error(`${String(error)}\n${provisioner.log()}`, { cause: error })
  }
  const stage: Stage = {
    cluster,
    namespace,
    className,
    provisionerName,
    volumesDir,
    provisioner,
    metricsUrl: `http://127.0.0.1:${port}/metrics`,
    images,
    kubectl,
    makeClass,
    volume,
    claim: async (options) => void (await kube.create(claimObject(options, { namespace, className }))),
    bound: (name) =>
      eventually(`the claim ${name} is bound`, async () => {
        const claim = await claimOf(name)
        if (claim?.status.phase !== 'Bound' || claim.spec.volumeName === undefined) return undefined
        const found = await volume(claim.spec.volumeName)
        return found?.metadata.annotations[NOTE.unconfirmed] === undefined ? found : undefined
      }).catch(orWithLog),
    allBound: (names) =>
      eventually('all claims are bound', async () => {
        const found = (await kube.list({ kind: 'PersistentVolumeClaim', namespace })).map((one) => ClaimState.parse(one))
        const claims = found.filter(({ metadata, status }) => names.includes(metadata.name) && status.phase === 'Bound')
        return claims.length === names.length ? claims.map(({ spec }) => spec.volumeName ?? '') : undefined
      }).catch(orWithLog),
    async release(name) {
      const { spec } = ClaimState.parse(await claimOf(name))
      await kube.delete({ kind: 'PersistentVolumeClaim', namespace, name })
      await eventually(`the claim ${name} is gone and its disk is free`, async () => {
        if ((await claimOf(name)) !== undefined) return undefined
        const found = await volume(spec.volumeName ?? '')
        return found === undefined || found.status.phase === 'Released' ? true : undefined
      })
    },
    eventsOf: async (name) => (await kube.events({ kind: 'PersistentVolumeClaim', namespace, name })).join('\n'),
    async [Symbol.asyncDispose]() {
      await provisioner.kill9()
      if (!isThere) await cluster.kubectl('delete', 'namespace', namespace, '--timeout=90s')
      await cluster.clear({ kind: 'PersistentVolume', labels: `pod_namespace=${namespace}` })
      for (const name of classes) await kube.delete({ kind: 'StorageClass', name })
      for (const kind of ['ClusterRoleBinding', 'ClusterRole'] as const)
        await kube.delete({ kind, name: `${namespace}-provisioner` })
      await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
    },
  }
  return stage
}

/** Returns a claim as the server renders it, with the default selector and without node requirements of the pod. */
function claimObject(options: ClaimOptions, { namespace, className }: { namespace: string; className: string }): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      name: options.name,
      namespace,
      labels: { 'codefresh-app': 'dind', 'io.codefresh.accountName': 'acme', ...options.labels },
      annotations: { 'windlass.io/placement': '{}', ...options.annotations },
    },
    spec: {
      accessModes: ['ReadWriteOnce'],
      storageClassName: options.className ?? className,
      resources: { requests: { storage: options.size ?? '16Gi' } },
    },
  }
}

/**
 * Creates the rights of `rbacFile`, with the ClusterRole under a name of this stage. Returns the path of a kubeconfig with only these
 * rights.
 */
async function installRights(cluster: Cluster, { namespace, folder }: { namespace: string; folder: string }): Promise<string> {
  const name = `${namespace}-provisioner`
  await applyRoles(cluster, rbacFile, { namespace, clusterRole: name })
  const subjects = [{ kind: 'ServiceAccount', name: ACCOUNT, namespace }]
  const binding = (kind: string, role: { kind: string; name: string }, metadata: object): object => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind,
    metadata,
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', ...role },
    subjects,
  })
  await cluster.apply(
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: ACCOUNT, namespace } },
    binding('RoleBinding', { kind: 'Role', name: ROLE }, { name: ROLE, namespace }),
    binding('ClusterRoleBinding', { kind: 'ClusterRole', name }, { name }),
  )
  const rights = [
    { verb: 'create', group: '', resource: 'persistentvolumes' },
    { verb: 'create', group: 'coordination.k8s.io', resource: 'leases', namespace },
  ]
  return writeKubeconfig(cluster, { namespace, name: ACCOUNT, rights }, join(folder, 'provisioner.kubeconfig'))
}
