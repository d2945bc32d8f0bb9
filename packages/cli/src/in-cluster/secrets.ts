/** Secrets maintained by the `in-cluster` commands. They are deleted with their owner and have no finalizers. */
import { isFault } from '@windlass/kit/faults'
import type { Kind, Kube, KubeObject } from '@windlass/kube'
import { z } from 'zod'

export interface SecretInput {
  readonly name: string
  /** Plain values, not base64. */
  readonly values: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  /** Owner of the Secret; ignored if it does not exist. */
  readonly owner?: { readonly kind: Kind; readonly name: string } | undefined
}

const SecretShape = z.looseObject({ data: z.record(z.string(), z.string()).optional() })

/** Returns the plain value of a key; undefined if Secret or key do not exist. */
export async function readSecret(kube: Kube, name: string, key: string): Promise<string | undefined> {
  const found = await kube.find({ kind: 'Secret', name, namespace: kube.namespace })
  const encoded = found === undefined ? undefined : SecretShape.parse(found).data?.[key]
  return encoded === undefined ? undefined : Buffer.from(encoded, 'base64').toString('utf8').trim()
}

/** Creates the Secret, or replaces its values. Idempotent. */
export async function applySecret(kube: Kube, secret: SecretInput): Promise<void> {
  const { name } = secret
  const owner = secret.owner && (await kube.find({ ...secret.owner, namespace: kube.namespace }))
  const data = Object.fromEntries(
    Object.entries(secret.values).map(([key, value]) => [key, Buffer.from(value, 'utf8').toString('base64')]),
  )
  const metadata = {
    labels: { 'codefresh.io/internal': 'true' },
    ...(secret.annotations && { annotations: { ...secret.annotations } }),
    ...(owner && { ownerReferences: [ownerReference(owner)] }),
  }
  try {
    const object = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace: kube.namespace, ...metadata },
      type: 'Opaque',
      data,
    }
    await kube.create(object)
  } catch (error) {
    if (!isFault(error, 'conflict')) throw error
    await kube.patch({ kind: 'Secret', name, namespace: kube.namespace }, { metadata, data })
  }
}

function ownerReference(owner: KubeObject): object {
  const { apiVersion, kind, metadata } = owner
  return { apiVersion, kind, name: metadata.name, uid: metadata.uid, controller: false, blockOwnerDeletion: false }
}
