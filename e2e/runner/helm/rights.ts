/** The permissions of each service account of a release as text: from rendered objects, and from `kubectl auth can-i --list`. */
import { z } from 'zod'
import type { Rendered } from '../../support/helm.ts'

/** Verbs by resource, with the name of an object if a rule is limited to it: `secrets codefresh-certs-server`. */
export type Rights = ReadonlyMap<string, ReadonlySet<string>>

/** Permissions of an account in the namespace of the release, and in all others. */
export interface AccountRights {
  readonly account: string
  readonly here: Rights
  readonly elsewhere: Rights
}

const Rules = z
  .array(
    z.object({
      apiGroups: z.array(z.string()),
      resources: z.array(z.string()),
      resourceNames: z.array(z.string()).optional(),
      verbs: z.array(z.string()),
    }),
  )
  .nullish()
const Binding = z.object({
  roleRef: z.object({ kind: z.string(), name: z.string() }),
  subjects: z.array(z.object({ name: z.string() })),
})

/** Returns the permissions that the roles and bindings among the objects give to their service accounts. */
export function rightsOf(objects: readonly Rendered[]): AccountRights[] {
  const ofKind = (kind: string): readonly Rendered[] => objects.filter((object) => object.kind === kind)
  const rulesOf = (account: string, kind: 'Role' | 'ClusterRole'): z.infer<typeof Rules>[] =>
    ofKind(`${kind}Binding`).flatMap((object) => {
      const { roleRef, subjects } = Binding.parse({ roleRef: object['roleRef'], subjects: object['subjects'] })
      if (!subjects.some(({ name }) => name === account)) return []
      const role = ofKind(roleRef.kind).find(({ metadata }) => metadata.name === roleRef.name)
      return [Rules.parse(role?.['rules'])]
    })
  const accounts = ofKind('ServiceAccount').map(({ metadata }) => metadata.name)
  return accounts.toSorted().map((account) => {
    const everywhere = rulesOf(account, 'ClusterRole')
    return { account, here: toRights([...everywhere, ...rulesOf(account, 'Role')]), elsewhere: toRights(everywhere) }
  })
}

function toRights(lists: readonly z.infer<typeof Rules>[]): Rights {
  const rights = new Map<string, Set<string>>()
  for (const { apiGroups, resources, resourceNames = [''], verbs } of lists.flatMap((list) => list ?? []))
    for (const group of apiGroups)
      for (const resource of resources)
        for (const name of resourceNames) add(rights, `${withGroup(resource, group)} ${name}`.trim(), verbs)
  return rights
}

/** Formats like kubectl: `deployments.apps`, `deployments.apps/scale`. */
function withGroup(resource: string, group: string): string {
  if (group === '') return resource
  const [name = '', ...rest] = resource.split('/')
  return [`${name}.${group}`, ...rest].join('/')
}

function add(rights: Map<string, Set<string>>, key: string, verbs: readonly string[]): void {
  const known = rights.get(key) ?? new Set()
  rights.set(key, known)
  for (const verb of verbs) known.add(verb)
}

/** Parses the output of `kubectl auth can-i --list --no-headers`, without permissions for non-resource URLs. */
export function readCanI(text: string): Rights {
  const rights = new Map<string, Set<string>>()
  for (const line of text.split('\n')) {
    const found = /^(\S+)\s+\[[^\]]*\]\s+\[([^\]]*)\]\s+\[([^\]]*)\]\s*$/.exec(line)
    if (found === null) continue
    const [, resource = '', names = '', verbs = ''] = found
    for (const name of names === '' ? [''] : names.split(' '))
      add(
        rights,
        `${resource} ${name}`.trim(),
        verbs.split(' ').filter((verb) => verb !== ''),
      )
  }
  return rights
}

/** Returns the permissions in the first and not in the second, to subtract those that every account has. */
export function withoutRights(rights: Rights, others: Rights): Rights {
  const left = [...rights].map(([key, verbs]): [string, ReadonlySet<string>] => [
    key,
    new Set([...verbs].filter((verb) => others.get(key)?.has(verb) !== true)),
  ])
  return new Map(left.filter(([, verbs]) => verbs.size > 0))
}

/** Formats a block for each account, sorted; `nothing` for one without permissions. */
export function toText(list: readonly AccountRights[]): string {
  const lines = (where: string, rights: Rights): string[] =>
    rights.size === 0
      ? [`  ${where}: nothing`]
      : [...rights].map(([key, verbs]) => `  ${where}: ${key}: ${[...verbs].toSorted().join(',')}`).toSorted()
  return `${list.map(({ account, here, elsewhere }) => [account, ...lines('here', here), ...lines('elsewhere', elsewhere)].join('\n')).join('\n\n')}\n`
}
