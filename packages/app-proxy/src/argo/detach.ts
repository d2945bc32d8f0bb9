/** Removes the applications of a GitOps runtime itself from its namespace. What they have applied stays, and so do the applications of users. */
import { ownApplications, type RuntimePlace } from '@windlass/gitops'
import { fault, isFault } from '@windlass/kit'
import { listIfKnown, type Kube } from '@windlass/kube'

/** A sync that runs can create one again. */
const MAX_TRIES = 3

/** Returns the applications of a runtime in its namespace; none without Argo CD. */
async function listOwn(kube: Kube, { runtime, namespace }: RuntimePlace): Promise<string[]> {
  return ownApplications(await listIfKnown(kube, { kind: 'Application', namespace, content: 'metadata' }), runtime)
}

/** Returns the names of those that it has removed. Throws `conflict` if something creates one again. */
export async function detachRuntime(kube: Kube, place: RuntimePlace): Promise<string[]> {
  const { runtime, namespace } = place
  const removed = new Set<string>()
  for (let tries = 1; ; tries += 1) {
    const [first, ...others] = await listOwn(kube, place)
    if (first === undefined) return [...removed]
    if (tries > MAX_TRIES)
      throw fault('conflict', {
        message: `The application "${first}" of the GitOps runtime "${runtime}" is created again after its removal.`,
        hint: 'Find what applies it, such as another application of Argo CD, and remove it there. Then repeat the call.',
      })
    for (const name of [first, ...others]) {
      const ref = { kind: 'Application', namespace, name } as const
      // A finalizer, which only people add, would make Argo CD delete what the application has applied.
      await kube.patch(ref, { metadata: { finalizers: null } }).catch((error: unknown) => {
        if (!isFault(error, 'not-found')) throw error
      })
      await kube.delete(ref)
      removed.add(name)
    }
  }
}
