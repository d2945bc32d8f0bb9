/** Frames of one stream that are on the way at the same time, from the sender of the engine to a real server. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ENGINE_ROUTES } from '@windlass/client/engine'
import { nodeTransport, sha256, silentLog, systemClock, type Clock } from '@windlass/kit'
import { createClient, type Transport } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { openReport } from '../../../../engine/src/report/report.ts'
import { openHttpScene } from '../../support/http-scene.ts'

const MIB = 1_048_576

/** The clock of a server that holds frames ten times longer, so that a busy machine does not look like a frame that never comes. */
const SLOW: Clock = { ...systemClock, monotonic: () => systemClock.monotonic() / 10 }

test('a frame that is lost is sent again at once, although the server holds those behind it', async () => {
  await using scene = await openHttpScene({ clock: SLOW })
  const { build, engine } = await scene.start()
  const spoolDir = await mkdtemp(join(tmpdir(), 'windlass-frames-'))
  const end = new AbortController()
  const send = nodeTransport()
  const answers: number[] = []
  let frames = 0
  const transport: Transport = async (request) => {
    const isFrame = request.url.endsWith(ENGINE_ROUTES.sendFrame.path)
    if (isFrame && (frames += 1) === 2) throw new Error('the connection was reset')
    const response = await send(request)
    if (isFrame) answers.push(response.status)
    return response
  }
  const client = createClient({ url: scene.server.url, token: engine.claimed.token, transport })
  const faults: unknown[] = []
  const common = {
    client,
    spoolDir,
    spoolBytes: 1e9,
    heartbeatMs: 10_000,
    clock: systemClock,
    log: silentLog,
    signal: end.signal,
  }
  const { journal } = await openReport({ ...common, onFailed: (error) => void faults.push(error) })
  try {
    journal.append({ type: 'attempt.started', engineVersion: '0', docker: { version: '0', api: '1.45' }, volumeKept: true })
    journal.append({ type: 'step.started', step: 'hello', try: 1 })
    const output = Buffer.concat(Array.from({ length: 8 }, (_, n) => Buffer.alloc(MIB, `${n}\n`)))
    await journal.stream('step/hello').write(output)
    await expect.poll(() => journal.extent('step/hello').acked).toBe(output.length)
    expect(answers.filter((status) => status !== 200)).toEqual([])
    expect(frames).toBeGreaterThan(8)
    const log = await scene.admin.builds.log(build.id)
    expect(sha256(log)).toBe(sha256(output.toString()))
    expect(faults).toEqual([])
  } finally {
    end.abort()
    await journal.close()
    await rm(spoolDir, { recursive: true, force: true })
  }
})
