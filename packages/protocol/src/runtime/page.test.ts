import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { RuntimeInput } from './runtime.ts'
import { WORKFLOW_LIMITS } from './fields.ts'

const page = readFileSync(new URL('../../../../docs/runner/runtimes.md', import.meta.url), 'utf8')

/** Fields whose content is not checked: maps with keys of users, and content that is documented elsewhere. */
const EXPLAINED = ['userEnvVars', 'metadata', 'volumes', 'volumeMounts', 'userVolumes', 'userVolumeMounts', 'workflowLimits']

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly anyOf?: readonly Schema[]
}

function names(schema: Schema): string[] {
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, field]) => [
    name,
    ...(EXPLAINED.includes(name) ? [] : names(field)),
  ])
  return [...own, ...(schema.anyOf ?? []).flatMap(names)]
}

test('the page shows a trust policy for the service account of builds (R174)', () => {
  expect(page).toContain('"sts:AssumeRoleWithWebIdentity"')
  expect(page).toContain('system:serviceaccount:windlass:windlass-engine')
})

test('the page documents every field and every limit of runtime environments (R178)', () => {
  const schema = z.toJSONSchema(RuntimeInput.shape.spec, { io: 'input', unrepresentable: 'any' }) as Schema
  const fields = names(schema)
  expect(fields.length).toBeGreaterThan(90)
  const missing = [...new Set([...fields, ...WORKFLOW_LIMITS])].filter((name) => !new RegExp(`\\b${name}\\b`).test(page))
  expect(missing).toEqual([])
})
