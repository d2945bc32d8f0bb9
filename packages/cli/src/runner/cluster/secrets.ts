/** Secrets of the installer in a namespace: the agent's token, tokens of service accounts, and the files of attached runtimes. */
import { systemClock } from '@windlass/kit'
import { fault, isFault } from '@windlass/kit/faults'
import type { Kube, ObjectRef } from '@windlass/kube'
import { z } from 'zod'

/** Secret with the agent's token. The chart uses the same names, so that a later `helm upgrade` finds it. */
export const TOKEN_SECRET = { name: 'runner', key: 'agent-codefresh-token' } as const
/** Key used by older Codefresh installers. */
export const OLD_TOKEN_KEY = 'codefresh.token'
export const RUNTIMES_SECRET = 'runnerconf'

/** Returns the name of the Secret with the permanent token of a service account. */
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

/** Returns the decoded keys of a Secret; undefined if it does not exist. */
export async function readSecret(kube: Kube, namespace: string, name: string): Promise<Record<string, string> | undefined> {
  const found = await kube.find(secretRef(namespace, name))
  if (found === undefined) return undefined
  const data = SecretShape.parse(found).data ?? {}
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8')]))
}

/** Sets keys of a Secret and keeps the others; `undefined` removes a key. Creates the Secret if needed. */
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
    // Another process may have created it between the two calls; then patch that one.
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

/** Creates the namespace if needed. A new namespace admits privileged pods, which the Docker daemon of a build needs. */
export async function ensureNamespace(kube: Kube, namespace: string): Promise<'created' | 'exists'> {
  if ((await kube.find({ kind: 'Namespace', name: namespace })) !== undefined) return 'exists'
  const labels = { ...OWN_LABELS, 'pod-security.kubernetes.io/enforce': 'privileged' }
  await kube.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels } }, [])
  return 'created'
}

/**
 * Returns a permanent token of a service account, from a Secret that Kubernetes fills in. Waits up to 15 s.
 * Throws `not-found` without the account, `cluster-refused` if the token is not created.
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
      message: `The service account ${account} does not exist in the namespace ${namespace}.`,
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
      throw fault('cluster-refused', { message: `The cluster did not create the token of ${account} within 15 s.` })
    await systemClock.sleep(250)
  }
}
