/** Checks of a cluster from inside, with the rights of the agent. They change nothing. */
import { isFault } from '@windlass/kit'
import {
  checkImagePulls,
  checkNodeConditions,
  checkRights,
  checkStorageClass,
  type Finding,
  type Kube,
  type Right,
} from '@windlass/kube'
import { failureMessage } from '../failure-message.ts'

export interface ClusterCheck {
  readonly kube: Kube
  readonly namespace: string
  readonly storageClass: string | undefined
  /** The agent makes disks itself, so that the storage class needs no provisioner. */
  readonly makesDisks: boolean
  readonly signal: AbortSignal
}

const HINT = 'Upgrade the chart of the agent, or grant it the rules of its Role: `windlass runner upgrade`.'

/** What the agent needs in each namespace of builds (`packages/agent/rbac/role.yaml`). */
export const NEEDS: readonly (Omit<Right, 'verb' | 'namespace'> & { readonly verbs: readonly string[] })[] = [
  { group: '', resource: 'pods', verbs: ['create', 'get', 'list', 'watch', 'delete'] },
  { group: '', resource: 'pods', subresource: 'log', verbs: ['get'] },
  { group: '', resource: 'secrets', verbs: ['create', 'get', 'list', 'delete'] },
  { group: '', resource: 'persistentvolumeclaims', verbs: ['create', 'get', 'list', 'watch', 'delete', 'patch'] },
  { group: '', resource: 'events', verbs: ['list'] },
]

/** Runs all checks. One that cannot run is a finding. */
export async function checkCluster(check: ClusterCheck): Promise<Finding[]> {
  const { kube, namespace, storageClass, makesDisks, signal } = check
  const rights = NEEDS.flatMap(({ verbs, ...need }) => verbs.map((verb): Right => ({ verb, namespace, ...need })))
  const found = await Promise.all([
    tell('Kubernetes', async () => [{ check: 'Kubernetes', status: 'pass', message: await kube.version() }]),
    tell('rights', () => checkRights(kube, rights, HINT)),
    tell('nodes', async () => {
      const conditions = await checkNodeConditions(kube, signal)
      return conditions.length > 0
        ? conditions
        : [{ check: 'nodes', status: 'pass', message: 'all nodes are ready and schedulable' }]
    }),
    tell('storage class', async () => {
      if (makesDisks) return [{ check: 'storage class', status: 'pass', message: 'the agent makes the disks itself' }]
      return storageClass === undefined ? [] : [await checkStorageClass(kube, { name: storageClass, namespace }, signal)]
    }),
    tell('image pull', () => checkImagePulls(kube, namespace, signal)),
  ])
  return found.flat()
}

async function tell(check: string, run: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await run()
  } catch (error) {
    const status = isFault(error, 'cluster-refused') ? 'warn' : 'fail'
    return [{ check, status, message: `The check could not run: ${failureMessage(error)}`, hint: HINT }]
  }
}
