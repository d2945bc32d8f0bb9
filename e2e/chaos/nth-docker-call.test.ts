import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLog, systemClock } from '@windlass/kit'
import { runLocalBuild, type LocalBuild } from '@windlass/local'
import { REASONS } from '@windlass/plan'
import { expect, test } from 'vitest'
import { chaosConfig } from './config.ts'
import { openHttpProxy, type Call, type Verdict } from './faults/http-proxy.ts'
import { seededRandom } from './faults/random.ts'
import { ensureImages } from '../support/images.ts'
import { removeLocalRuns } from '../support/local-runs.ts'
import { runProgram } from '../support/process.ts'

const LINES = 400
const { SHELL_IMAGE } = await ensureImages('shell', 'tools')
const DOCUMENT = `version: "1.0"
steps:
  count:
    image: ${SHELL_IMAGE}
    commands:
      - for n in $(seq ${LINES}); do echo "line $n of many"; done
      - cf_export WORD=windlass
  say:
    image: ${SHELL_IMAGE}
    commands:
      - echo "the word is $WORD"
`
const EXPECTED = {
  'step/count': Array.from({ length: LINES }, (_, n) => `line ${n + 1} of many\n`).join(''),
  'step/say': 'the word is windlass\n',
}
const HANG_MS = 180_000
/** Calls that query the daemon and create the volume. If Docker fails there, the run is refused before anything starts. */
const BEFORE_IT_BEGINS = 5

interface Run {
  readonly build: LocalBuild
  readonly logs: Readonly<Record<string, string>>
  readonly calls: readonly Call[]
  /** Containers that still use the volume of the build. */
  readonly left: readonly string[]
}

/** Runs one build through a proxy in front of the Docker socket that applies `decide`. */
async function runThrough(decide: (call: Call) => Verdict): Promise<Run> {
  const folder = await mkdtemp(join(tmpdir(), 'windlass-docker-'))
  const socket = join(folder, 'docker.sock')
  const calls: Call[] = []
  await using stack = new AsyncDisposableStack()
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  const documentPath = join(folder, 'nth.yml')
  stack.defer(() => removeLocalRuns(folder, [documentPath]))
  stack.use(
    await openHttpProxy({
      target: () => ({ socketPath: chaosConfig.dockerSocket }),
      listen: { socketPath: socket },
      decide: (call) => {
        calls.push(call)
        return decide(call)
      },
    }),
  )
  const logs: Record<string, string> = {}
  let volume = ''
  const options = {
    source: { text: DOCUMENT, file: 'nth.yml' },
    documentPath,
    variables: {},
    secrets: {},
    only: [],
    skip: [],
    noCache: false,
    resetVolume: true,
    environment: { DOCKER_HOST: `unix://${socket}` },
    stateDir: join(folder, 'state'),
    clock: systemClock,
    log: silentLog,
    cancel: AbortSignal.timeout(HANG_MS),
  }
  const build = await runLocalBuild(options, {
    begin: ({ volume: { name } }) => (volume = name),
    event: () => undefined,
    output: async ({ stream, bytes }) => {
      logs[stream] = (logs[stream] ?? '') + Buffer.from(bytes).toString()
    },
  })
  return {
    build,
    logs: Object.fromEntries(Object.entries(logs).map(([stream, text]) => [stream, withoutOwnLines(text)])),
    calls,
    left: await containersOn(volume),
  }
}

async function containersOn(volume: string): Promise<string[]> {
  const format = ['--format', '{{.Names}} {{.Command}} {{.Status}}']
  const lines = await runProgram('docker', ['ps', '--all', '--no-trunc', '--filter', `volume=${volume}`, ...format])
  return lines === '' ? [] : lines.split('\n')
}

/** Returns the output of the containers. The own lines of the engine depend on the fault. */
function withoutOwnLines(text: string): string {
  return text.replace(/^\[SYSTEM\] .*\n/gm, '')
}

const kinds: readonly Verdict[] = [{ kind: 'lose' }, { kind: 'cut-reply' }, { kind: 'answer', status: 500 }]

test('if any Docker call fails, the build succeeds or ends with an infra reason, and no output is lost or duplicated', async () => {
  const whole = await runThrough(() => ({ kind: 'pass' }))
  expect(whole.build.outcome).toMatchObject({ status: 'success' })
  expect(whole.logs).toMatchObject(EXPECTED)
  const random = seededRandom(chaosConfig.seed)
  const counts: Record<string, number> = {}
  const wrong: string[] = []
  for (let n = 1; n <= whole.calls.length; n += 1) {
    for (const verdict of kinds) {
      if (!chaosConfig.thorough && !random.chance(14 / (kinds.length * whole.calls.length))) continue
      const where = `call ${n} (${verdict.kind} ${whole.calls[n - 1]?.method} ${whole.calls[n - 1]?.path})`
      const run = await runThrough((call) => (call.n === n ? verdict : { kind: 'pass' })).catch((error: unknown) => String(error))
      const said = typeof run === 'string' ? run : judge(run)
      const word =
        typeof run === 'string' ? 'refused at once' : `${run.build.outcome.status} ${run.build.outcome.reason ?? ''}`.trim()
      counts[word] = (counts[word] ?? 0) + 1
      if (said !== undefined && n > BEFORE_IT_BEGINS) wrong.push(`${where}: ${said}`)
    }
  }
  console.log(`n-th call to Docker: seed ${chaosConfig.seed}, ${whole.calls.length} calls in a build; ${JSON.stringify(counts)}`)
  expect(wrong).toEqual([])
})

/** Describes the error of a run in which one call failed, or returns undefined. */
function judge({ build, logs, left }: Run): string | undefined {
  if (left.length > 0) return `${left.length} containers are left: ${left.join(', ')}`
  const { status, reason, message } = build.outcome
  const isInfra = reason !== undefined && reason !== 'internal' && REASONS[reason].blame === 'infra'
  if (status !== 'success' && !isInfra) return `${status}, ${reason}: ${message}`
  for (const [stream, expected] of Object.entries(EXPECTED)) {
    const got = logs[stream] ?? ''
    if (status === 'success' && got !== expected)
      return `success, but ${stream} has ${got.length} characters of ${expected.length}`
    if (!expected.startsWith(got)) return `${stream} has other bytes than were written`
  }
  return undefined
}
