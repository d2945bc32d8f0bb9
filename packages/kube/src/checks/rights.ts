/** Permissions that an account needs. */
import type { Kube, Right } from '../client.ts'
import type { Finding } from './finding.ts'

/** Asks for all permissions at once, and lists the missing ones, one finding per resource. */
export async function checkRights(kube: Kube, needs: readonly Right[], hint: string): Promise<Finding[]> {
  const answers = await Promise.all(needs.map(async (right) => ({ right, allowed: await kube.can(right) })))
  return evaluateRights(answers, hint)
}

/** Evaluates the answers. Pure. */
export function evaluateRights(
  answers: readonly { readonly right: Right; readonly allowed: boolean }[],
  hint: string,
): Finding[] {
  const missing = new Map<string, string[]>()
  for (const { right, allowed } of answers) {
    if (allowed) continue
    const place = `${resourceOf(right)} ${right.namespace === undefined ? 'in the whole cluster' : `in namespace ${right.namespace}`}`
    missing.set(place, [...(missing.get(place) ?? []), right.verb])
  }
  if (missing.size === 0) return [{ check: 'rights', status: 'pass', message: `all ${answers.length} permissions are granted` }]
  return [...missing].map(([place, verbs]) => ({
    check: 'rights',
    status: 'fail',
    message: `Missing permission to ${verbs.join(', ')} ${place}.`,
    hint,
  }))
}

/** Returns a resource as in rules, such as `deployments.apps`. */
export function resourceOf({ group, resource, subresource }: Pick<Right, 'group' | 'resource' | 'subresource'>): string {
  const path = subresource === undefined ? resource : `${resource}/${subresource}`
  return group === '' ? path : `${path}.${group}`
}
