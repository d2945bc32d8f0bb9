/** What the installer keeps in a namespace: the agent's token, tokens of service accounts, and the file of attached runtimes. */
import { systemClock } from '@windlass/kit'
import { fault, isFault } from '@windlass/kit/faults'
import type { Kube, ObjectRef } from '@windlass/kube'
import { z } from 'zod'

/** The Secret of the agent's token; the chart's own names, so that a later `helm upgrade` finds it. */
export const TOKEN_SECRET = { name: 'runner', key: 'agent-codefresh-token' } as const
/** Key that the vendor's older installers used. */
export const OLD_TOKEN_KEY = 'codefresh.token'
export const RUNTIMES_SECRET = 'runnerconf'

/** Name of the Secret with the lasting token of a service account. */
export function accountSecretOf(account: string): string {
  return `${account}-windlass-token`
}

const ACCOUNT_TOKEN_WAIT_MS = 15_000
const OWN_LABELS = { 'app.kubernetes.io/managed-by': 'windlass' }

const SecretShape = z.looseObject({
  data: z.record(z.string(), z.string()).nullish(),
})

function secretRef(namespace: string, name: string): ObjectRef {
  return { kind: 'Secret', namespace, name }
}

/** The decoded keys of a Secret; undefined when there is none. */
export async function readSecret(kube: Kube, namespace: string, name: string): Promise<Record<string, string> | undefined> {
  const found = await kube.find(secretRef(namespace, name))
  if (found === undefined) return undefined
  const data = SecretShape.parse(found).data ?? {}
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8')]))
}

/** Sets some keys of a Secret and leaves the others; `undefined` takes a key away. Makes the Secret when there is none. */
export async function setSecretKeys(
  kube: Kube,
  { namespace, name }: { namespace: string; name: string },
  keys: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  const encoded = Object.entries(keys).map(([key, value]) => [
    key,
    value === undefined ? null : Buffer.from(value).toString('base64'),
  ])
  const data: Record<string, string | null> = Object.fromEntries(encoded)
  try {
    await kube.patch(secretRef(namespace, name), { data })
  } catch (error) {
    if (!isFault(error, 'not-found')) throw error
    const kept = Object.fromEntries(Object.entries(data).filter(([, value]) => value !== null))
    if (Object.keys(kept).length === 0) return
    const metadata = { name, namespace, labels: OWN_LABELS }
    // Somebody may have made it between the two calls; then the keys are set in theirs.
    const made = await kube
      .apply({ apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', data: kept }, [])
      .catch((why: unknown) => {
        if (!isFault(why, 'conflict')) throw why
        return undefined
      })
    if (made === undefined || Object.keys(kept).some((key) => SecretShape.parse(made).data?.[key] !== kept[key]))
      await kube.patch(secretRef(namespace, name), { data })
  }
}

/** Makes the namespace; one that is there stays as it is. Builds need a privileged daemon, which a new namespace says it allows. */
export async function ensureNamespace(kube: Kube, namespace: string): Promise<'made' | 'there'> {
  if ((await kube.find({ kind: 'Namespace', name: namespace })) !== undefined) return 'there'
  const labels = { ...OWN_LABELS, 'pod-security.kubernetes.io/enforce': 'privileged' }
  await kube.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels } }, [])
  return 'made'
}

/**
 * A token of a service account that does not end, and the authority of the cluster: a Secret that Kubernetes fills in. Waits up to 15 s.
 * Throws `not-found` without the account, `cluster-refused` when no token comes.
 */
export async function lastingToken(kube: Kube, namespace: string, account: string): Promise<string> {
  const end = systemClock.now() + ACCOUNT_TOKEN_WAIT_MS
  // In a new namespace the account `default` takes a moment to appear.
  while ((await kube.find({ kind: 'ServiceAccount', namespace, name: account })) === undefined) {
    if (account === 'default' && systemClock.now() < end) {
      await systemClock.sleep(250)
      continue
    }
    throw fault('not-found', {
      message: `There is no service account ${account} in the namespace ${namespace}.`,
      hint: 'Install the runtime there first: `windlass install runtime`.',
    })
  }
  const name = accountSecretOf(account)
  const annotations = { 'kubernetes.io/service-account.name': account }
  await kube.apply(
    {
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'kubernetes.io/service-account-token',
      metadata: { name, namespace, annotations, labels: OWN_LABELS },
    },
    ['app.kubernetes.io/managed-by'],
  )
  for (;;) {
    const token = (await readSecret(kube, namespace, name))?.['token']
    if (token !== undefined && token !== '') return token
    if (systemClock.now() > end)
      throw fault('cluster-refused', { message: `The cluster did not fill in the token of ${account} within 15 s.` })
    await systemClock.sleep(250)
  }
}
