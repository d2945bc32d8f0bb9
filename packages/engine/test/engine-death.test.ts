/** Tests the cleanup of what a killed engine leaves on the daemon. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { newId } from '@windlass/kit'
import { expect, test } from 'vitest'
import { listLeftovers } from './support/list-leftovers.ts'
import { runPipeline, testDocker } from './support/run-pipeline.ts'

const document = `
version: '1.0'
services:
  composition:
    services: { db: { image: $SHELL, command: ['sleep', '1000'], volumes: ['named:/data'] } }
    volumes: { named: {} }
steps:
  it:
    type: composition
    composition: { services: { side: { image: $SHELL, command: ['sleep', '1000'] } } }
    composition_candidates:
      test: { image: $SHELL, command: ['sh', '-c', 'echo begun; [ "\${FAST}" = yes ] || sleep 1000'] }
    composition_variables: ['FAST=\${{FAST}}']
`

test('removes services and compositions of a killed engine before the next attempt starts anything', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'engine-death-'))
  const buildId = newId(Date.now())
  const volumeName = `windlass-test-${buildId}`
  try {
    await writeFile(join(folder, 'pipeline.yml'), document)
    const script = fileURLToPath(new URL('support/run-until-killed.ts', import.meta.url))
    const engine = spawn(process.execPath, [script, buildId, join(folder, 'pipeline.yml')], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const exited = once(engine, 'exit')
    expect(String(await Promise.race([once(engine.stdout, 'data'), exited]))).toContain('running')
    engine.kill('SIGKILL')
    await exited
    expect((await listLeftovers(buildId)).length).toBeGreaterThan(5)

    const next = await runPipeline(document, { input: { buildId, volumeName, attempt: 2 }, variables: { FAST: 'yes' } })
    expect(next.outcome.status).toBe('success')
    expect(await listLeftovers(buildId)).toEqual([])
  } finally {
    await (await testDocker()).removeVolume(volumeName)
    await rm(folder, { recursive: true })
  }
})
