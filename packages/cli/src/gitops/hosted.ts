/** What a hosted runtime needs of the cluster of the server: an Argo CD whose rights end at its namespace, and no project that allows everything. */
import { isFault } from '@windlass/kit/faults'
import { ALL_NAMESPACES, type Finding, type Kube, type ObjectRef } from '@windlass/kube'
import { z } from 'zod'

const CHECK = 'hosted'
/** Lets Argo CD leave out the kinds that its account may not list. */
const RESPECT = 'resource.respectRBAC'
/** Helm writes it to what it owns. */
const RELEASE = 'meta.helm.sh/release-name'

const Settings = z.looseObject({ data: z.record(z.string(), z.string()).nullish() })
const Binding = z.looseObject({
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }),
  subjects: z
    .array(z.looseObject({ kind: z.string(), name: z.string(), namespace: z.string().optional() }))
    .nullish()
    .transform((subjects) => subjects ?? []),
})

/**
 * Checks that there is an Argo CD, and that no account of the namespace has rights outside of it. These rights are the last fence between the accounts of a platform: what
 * users write to Git is applied with them.
 */
export async function checkHosted(kube: Kube, namespace: string): Promise<Finding[]> {
  try {
    await kube.list({ kind: 'AppProject', namespace, content: 'metadata' })
    const found = await listBindingsElsewhere(kube, namespace)
    if (found.length > 0)
      return failed(
        `Accounts of the namespace ${namespace} have rights outside of it, by ${found.join(', ')}.`,
        'Install Argo CD from its namespace-install.yaml, and delete these objects.',
      )
    const settings = Settings.safeParse(await kube.find({ kind: 'ConfigMap', namespace, name: 'argocd-cm' })).data?.data
    if (['normal', 'strict'].includes(settings?.[RESPECT] ?? ''))
      return [{ check: CHECK, status: 'pass', message: `the accounts of ${namespace} have rights in this namespace only` }]
    return failed(
      `Argo CD looks for objects of ${namespace} that its account may not see, and would apply nothing.`,
      `Let it leave them out: kubectl --namespace ${namespace} patch configmap argocd-cm --patch '{"data":{"${RESPECT}":"normal"}}'`,
    )
  } catch (error) {
    if (!isFault(error)) throw error
    return error.code === 'not-found'
      ? failed('The cluster has no Argo CD.', 'Install its definitions, and then its namespace-install.yaml in this namespace.')
      : failed(error.message, 'Install with an account that may list the bindings of the cluster, such as cluster-admin.')
  }
}

function failed(message: string, hint: string): Finding[] {
  return [{ check: CHECK, status: 'fail', message, hint }]
}

/** Lists what gives the accounts of a namespace rights in other ones or in the whole cluster. What all accounts of the cluster have is not among it. */
async function listBindingsElsewhere(kube: Kube, namespace: string): Promise<string[]> {
  const kinds = ['ClusterRoleBinding', 'RoleBinding'] as const
  const lists = await Promise.all(
    kinds.map(async (kind) => ({ kind, objects: await kube.list({ kind, namespace: ALL_NAMESPACES }) })),
  )
  return lists.flatMap(({ kind, objects }) =>
    objects.flatMap((object) => {
      const { metadata, subjects } = Binding.parse(object)
      const isElsewhere = kind === 'ClusterRoleBinding' || metadata.namespace !== namespace
      const isOfNamespace = subjects.some(
        (subject) =>
          (subject.kind === 'ServiceAccount' && subject.namespace === namespace) ||
          (subject.kind === 'Group' && subject.name === `system:serviceaccounts:${namespace}`) ||
          // The same accounts by the names that Kubernetes gives them.
          (subject.kind === 'User' && subject.name.startsWith(`system:serviceaccount:${namespace}:`)),
      )
      if (!isElsewhere || !isOfNamespace) return []
      return [kind === 'ClusterRoleBinding' ? `${kind}/${metadata.name}` : `${kind}/${metadata.name} in ${metadata.namespace}`]
    }),
  )
}

/** Deletes the project `default` that Argo CD has made, so that Helm creates the one of the chart: it would leave the spec of an existing one as it is, which allows everything. */
export async function removeOpenProject(kube: Kube, namespace: string): Promise<void> {
  const ref: ObjectRef = { kind: 'AppProject', namespace, name: 'default' }
  const found = await kube.find(ref)
  if (found !== undefined && found.metadata.annotations?.[RELEASE] === undefined) await kube.delete(ref)
}
