/** Names of an installation of a GitOps runtime. */
import { fault } from '@windlass/kit/faults'
import { GitopsRuntimeName } from '@windlass/protocol'

/** Name of the Helm release in a namespace. */
export const RELEASE_NAME = 'windlass-gitops-runtime'

/** Returns the name. Throws `usage` for one that cannot be a part of a host. */
export function requireRuntimeName(name: string | undefined): string {
  const parsed = GitopsRuntimeName.safeParse(name)
  if (parsed.success) return parsed.data
  throw fault('usage', {
    message: `"${name ?? ''}" is not the name of a GitOps runtime: it ${parsed.error.issues[0]?.message ?? 'is not valid'}.`,
    hint: 'Choose a name such as `prod`.',
  })
}
