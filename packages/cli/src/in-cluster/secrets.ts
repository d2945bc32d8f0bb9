/** Secrets that the chart's commands keep: made once, replaced in place, gone with their owner. No finalizers. */
import { isFault } from '@windlass/kit/faults'
import type { Kind, Kube, KubeObject } from '@windlass/kube'
import { z } from 'zod'

export interface KeptSecret {
  readonly name: string
  /** Plain values; they are encoded here. */
  readonly values: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  /** What the Secret goes with; left alone when it is not there. */
  readonly owner?: { readonly kind: Kind; readonly name: string } | undefined
}

const SecretShape = z.looseObject({ data: z.record(z.string(), z.string()).optional() })

/** The plain value of a key; undefined when Secret or key are not there. */
export async function readSecret(kube: Kube, name: string, key: string): Promise<string | undefined> {
  const found = await kube.find({ kind: 'Secret', name, namespace: kube.namespace })
  const encoded = found === undefined ? undefined : SecretShape.parse(found).data?.[key]
  return encoded === undefined ? undefined : Buffer.from(encoded, 'base64').toString('utf8').trim()
}

/** Makes the Secret, or replaces its values when it is there. Safe to call twice. */
export async function keepSecret(kube: Kube, secret: KeptSecret): Promise<void> {
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
