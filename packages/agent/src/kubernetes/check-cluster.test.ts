import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { z } from 'zod'
import { NEEDS } from './check-cluster.ts'

const Role = z.looseObject({
  kind: z.string(),
  rules: z.array(z.looseObject({ apiGroups: z.array(z.string()), resources: z.array(z.string()), verbs: z.array(z.string()) })),
})

test('a check asks only for permissions that the Role of the agent grants', () => {
  const text = readFileSync(new URL('../../rbac/role.yaml', import.meta.url), 'utf8')
  const role = parseAllDocuments(text)
    .map((document) => Role.parse(document.toJS()))
    .find(({ kind }) => kind === 'Role')
  const granted = new Set(
    role?.rules.flatMap(({ apiGroups, resources, verbs }) =>
      apiGroups.flatMap((group) => resources.flatMap((resource) => verbs.map((verb) => `${verb} ${group}/${resource}`))),
    ),
  )
  const needed = NEEDS.flatMap(({ group, resource, subresource, verbs }) =>
    verbs.map((verb) => `${verb} ${group}/${resource}${subresource === undefined ? '' : `/${subresource}`}`),
  )
  expect(needed.filter((right) => !granted.has(right))).toEqual([])
})
