/** Routes with the namespace of the runtime in their path, for callers that know objects of other namespaces too. */
import { fault } from '@windlass/kit'
import { z } from 'zod'
import type { Route } from './route.ts'

const InNamespace = z.object({ namespace: z.string() })

export interface Namespaced {
  readonly namespace: string
  /** What the routes are about, such as `applications`. */
  readonly objects: string
  /** Who has those of other namespaces. */
  readonly owner: string
}

/** Returns the same route below `/namespaces/NAMESPACE`. */
export function withNamespace(own: Route, { namespace, objects, owner }: Namespaced): Route {
  return {
    ...own,
    path: `/namespaces/{namespace}${own.path}`,
    async run(call) {
      const { namespace: asked } = InNamespace.parse(call.params)
      if (asked === namespace) return own.run(call)
      throw fault('not-found', {
        message: `The GitOps runtime operates the ${objects} of the namespace "${namespace}", and not those of "${asked}".`,
        hint: `Use ${owner} itself for ${objects} of other namespaces.`,
      })
    },
  }
}
