import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Plan } from '@windlass/plan'
import { expect, test } from 'vitest'
import { readClusters } from './cluster-access.ts'

const STEP = { title: '', after: [], failFast: true, strictFailFast: false, retry: { maxAttempts: 1, delayMs: 0, factor: 1 } }
const POSITION = { line: 1, column: 1 }
const plan = (kind: 'deploy' | 'pending-approval'): Plan => ({
  planVersion: 1,
  mode: 'serial',
  stages: [],
  failFast: true,
  strictFailFast: false,
  steps: [
    {
      ...STEP,
      name: 'it',
      position: POSITION,
      action:
        kind === 'deploy'
          ? { kind, cluster: 'one', namespace: 'n', target: { service: 's' }, rolloutTimeout: '1' }
          : { kind, timeoutMs: 1, finalState: 'denied' },
    },
  ],
  variables: [],
})

test('gives deploy steps of a local run the contexts of the kubeconfig, and other steps none (P072)', () => {
  const folder = mkdtempSync(join(tmpdir(), 'kubeconfig-'))
  try {
    const path = join(folder, 'config')
    writeFileSync(
      path,
      `
current-context: one
clusters: [{ name: c, cluster: { server: 'https://c' } }]
users: [{ name: u, user: { token: t } }, { name: far, user: { client-key: /elsewhere } }]
contexts:
  - { name: one, context: { cluster: c, user: u } }
  - { name: two, context: { cluster: c, user: u, namespace: n } }
  - { name: three, context: { cluster: c, user: far } }
`,
    )
    const found = readClusters(plan('deploy'), { KUBECONFIG: path })
    expect(found.map(({ context, injected }) => ({ context, injected }))).toEqual([
      { context: 'one', injected: false },
      { context: 'two', injected: false },
    ])
    expect(JSON.parse(found[1]?.kubeconfig ?? '')).toMatchObject({
      'current-context': 'two',
      contexts: [{ context: { namespace: 'n' } }],
    })
    expect(readClusters(plan('pending-approval'), { KUBECONFIG: path })).toEqual([])
    expect(readClusters(plan('deploy'), { HOME: folder })).toEqual([])
  } finally {
    rmSync(folder, { recursive: true })
  }
})
