import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { RuntimeInput } from '../runtime.ts'
import { WORKFLOW_LIMITS } from './fields.ts'

const page = readFileSync(new URL('../../../../docs/runtimes.md', import.meta.url), 'utf8')

/** Maps whose keys are chosen by people, and what Kubernetes or we explain elsewhere, end here. */
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

test('R174: the page shows the trust policy of a role, with the service account of builds as its subject', () => {
  expect(page).toContain('"sts:AssumeRoleWithWebIdentity"')
  expect(page).toContain('system:serviceaccount:windlass:windlass-engine')
})

test('R178: the page of runtime environments names every field and every limit', () => {
  const schema = z.toJSONSchema(RuntimeInput.shape.spec, { io: 'input', unrepresentable: 'any' }) as Schema
  const fields = names(schema)
  expect(fields.length).toBeGreaterThan(90)
  const missing = [...new Set([...fields, ...WORKFLOW_LIMITS])].filter((name) => !new RegExp(`\\b${name}\\b`).test(page))
  expect(missing).toEqual([])
})
