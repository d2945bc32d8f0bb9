import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readRuntimeFiles } from '../../../../agent/src/runtimes/runtime-files.ts'
import { policyOfDeployment } from './release-policy.ts'
import { runtimeFileText } from './runtime-file.ts'

test('the file of an attached runtime contains the policy of the release in the other cluster', () => {
  const env = [
    { name: 'WINDLASS_AGENT_TOKEN', valueFrom: { secretKeyRef: { name: 'runner', key: 'token' } } },
    { name: 'WINDLASS_AGENT_NAMESPACES', value: 'builds' },
    { name: 'WINDLASS_AGENT_ALLOWED_SECRETS', value: 'npm,team' },
    { name: 'WINDLASS_AGENT_PRIVILEGED_IMAGES', value: 'registry.b.example/windlass/dind' },
    { name: 'WINDLASS_AGENT_PLACEMENTS', value: '[{"nodeSelector":{"pool":"builds"}}]' },
    { name: 'WINDLASS_AGENT_POLICY', value: 'strict' },
  ]
  const policy = policyOfDeployment({ spec: { template: { spec: { containers: [{ env }] } } } })
  const dir = mkdtempSync(join(tmpdir(), 'attached-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const remote = { host: 'https://10.0.0.1:6443', token: 'token', crt: undefined }
  writeFileSync(join(dir, 'b.runtime.yaml'), runtimeFileText({ name: 'b/builds', namespaces: ['builds'], policy, remote }))
  const { runtimes, problems } = readRuntimeFiles(dir, { insecure: false })
  expect(problems).toEqual([])
  expect(runtimes[0]?.policy).toEqual({
    ALLOWED_SECRETS: ['npm', 'team'],
    PRIVILEGED_IMAGES: ['registry.b.example/windlass/dind'],
    PLACEMENTS: [{ nodeSelector: { pool: 'builds' } }],
    POLICY: 'strict',
  })
})
