/** Builds for the tests of the page, made through the API of agents and engines, as agents with the fake executor make them. */
import type { Build } from '@windlass/protocol'
import type { HttpScene } from '../../../packages/server/test/support/http-scene.ts'
import { startEngine, type TestEngine } from '../../../packages/server/test/support/fakes/fake-agent.ts'

const GIT = { commitMessage: 'Add a cache for prices', commitAuthor: 'mira' }

export const DOCUMENT = `version: '1.0'
mode: parallel
stages: [prepare, check, ship]
steps:
  main_clone: {image: 'alpine:3', commands: [git fetch], stage: prepare}
  install: {image: 'node:24', commands: [npm ci], stage: prepare, when: {steps: [{name: main_clone, on: [success]}]}}
  checks:
    type: parallel
    stage: check
    when: {steps: [{name: install, on: [success]}]}
    steps:
      lint: {image: 'node:24', commands: [npm run lint]}
      unit_tests: {image: 'node:24', commands: [npm test], hooks: {on_finish: [echo clean]}}
      types: {image: 'node:24', commands: [npm run types]}
  image: {image: 'docker:28', commands: [docker build .], stage: ship, when: {steps: [{name: checks, on: [success]}]}}
  publish: {image: 'node:24', commands: [npm publish], stage: ship, when: {steps: [{name: image, on: [success]}]}}
`

/** The output of a test run that fails. */
const FAILED_TESTS = [
  ...Array.from(
    { length: 790 },
    (_, index) => `  \u001B[32m✓\u001B[0m test/price-${index}.test.ts (4 tests) ${20 + (index % 90)}ms`,
  ),
  ' \u001B[31mFAIL\u001B[0m  test/tax.test.ts > returns the tax of a price',
  '\u001B[31mAssertionError\u001B[0m: expected 19 to be 7',
  '',
  '  12 |   it("returns the tax of a price", () => {',
  '  13 |     expect(tax(100, "book")).toBe(7)',
  '     |                             ^',
  '  14 |   })',
  '',
  ' Test Files  1 failed | 790 passed (791)',
  '      Tests  1 failed | 3160 passed (3161)',
  '',
].join('\n')

type Ended = {
  readonly status: 'success' | 'error' | 'skipped'
  readonly reason?: string
  readonly message?: string
  readonly exitCode?: number
  readonly output?: string
  /** Peak of its memory. Bytes. */
  readonly memory?: number
  readonly image?: { readonly name: string; readonly digest?: string }
}

/** Runs a step from its start to its end. */
export async function runStep(engine: TestEngine, step: string, ended: Ended): Promise<void> {
  await engine.event({ type: 'step.started', step, try: 1 })
  await endStep(engine, step, ended)
}

/** Ends a step that has started. */
export async function endStep(
  engine: TestEngine,
  step: string,
  { status, reason, message, exitCode, output, image, memory = 1_980_000_000 }: Ended,
): Promise<void> {
  if (output !== undefined) await engine.log(`step/${step}`, output)
  const usage = { memoryPeakBytes: memory, memoryLimitBytes: 2_147_483_648, cpuMs: 61_000 }
  await engine.event({ type: 'step.usage', step, usage })
  const end = {
    type: 'step.finished',
    step,
    try: 1,
    status,
    exitCode: exitCode ?? 0,
    members: {},
    exports: [],
    usage,
    ...(reason !== undefined && { reason }),
    ...(message !== undefined && { message }),
    ...(image !== undefined && { image }),
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- reasons are plain texts here
  await engine.event(end as Parameters<TestEngine['event']>[0])
}

const INPUT = { document: DOCUMENT, branch: 'main', revision: '9e11f037aa11bb22cc33dd44ee55ff6677889900', git: GIT }

/** Submits a build and starts its engine. Stops of earlier attempts are done on the way. */
export async function startBuild(
  scene: HttpScene,
  input: object,
): Promise<{ readonly build: Build; readonly engine: TestEngine }> {
  const build = await scene.submit({ ...INPUT, ...input })
  return { build, engine: await startAttempt(scene, build) }
}

/** Starts the engine of the next attempt of a build. */
export async function startAttempt(scene: HttpScene, build: Build): Promise<TestEngine> {
  for (let tries = 0; tries < 10; tries += 1) {
    for (const task of await scene.agent.claim()) {
      await scene.agent.report(task, 'done')
      if (task.kind === 'start-attempt' && task.buildId === build.id) return startEngine(scene.server.url, task)
    }
  }
  throw new Error(`build ${build.number} was not started`)
}

/** Runs the steps of a build to its end, or to the first one that fails. `more` changes how steps end. */
export async function playBuild(
  scene: HttpScene,
  input: object,
  more: Readonly<Record<string, Partial<Ended>>> = {},
): Promise<Build> {
  const { build, engine } = await startBuild(scene, input)
  await begin(engine)
  const { steps } = engine.claimed.plan
  const groups = new Set(steps.flatMap(({ parent, hook }) => (parent === undefined || hook !== undefined ? [] : [parent])))
  const open: string[] = []
  let failed: string | undefined
  for (const { name, hook } of steps) {
    if (failed !== undefined || (hook !== undefined && more[name] === undefined)) continue
    if (groups.has(name)) {
      await engine.event({ type: 'step.started', step: name, try: 1 })
      open.push(name)
      continue
    }
    await runStep(engine, name, { status: 'success', ...more[name] })
    if (more[name]?.status === 'error') failed = name
  }
  const parentOf = new Map(steps.map(({ name, parent }) => [name, parent]))
  const around = new Set<string>()
  for (let at = parentOf.get(failed ?? ''); at !== undefined; at = parentOf.get(at)) around.add(at)
  for (const group of open.toReversed())
    await endStep(engine, group, around.has(group) ? { status: 'error', reason: 'step-failed' } : { status: 'success' })
  await engine.finish(failed === undefined ? { status: 'success' } : { status: 'error', reason: 'step-failed' })
  return scene.admin.builds.get(build.id)
}

/** Tells that the attempt runs. */
export async function begin(engine: TestEngine): Promise<void> {
  await engine.event({ type: 'attempt.started', engineVersion: '0', docker: { version: '0', api: '1.45' }, volumeKept: true })
}

/** A build whose step `unit_tests` fails in a group, with a clean-up hook that fails after it. */
export async function failBuild(scene: HttpScene, input: object = {}): Promise<Build> {
  const { build, engine } = await startBuild(scene, input)
  await begin(engine)
  await runStep(engine, 'main_clone', { status: 'success', output: 'Cloned demo/app at 9e11f037.\n' })
  await runStep(engine, 'install', { status: 'success', output: 'added 412 packages in 11s\n' })
  await engine.event({ type: 'step.started', step: 'checks', try: 1 })
  await runStep(engine, 'lint', { status: 'success', output: 'Found 0 warnings and 0 errors.\n' })
  await runStep(engine, 'unit_tests', { status: 'error', reason: 'exit-code', exitCode: 1, output: FAILED_TESTS })
  await runStep(engine, 'unit_tests.on_finish', { status: 'error', reason: 'exit-code', exitCode: 2, output: 'no clean\n' })
  await endStep(engine, 'checks', { status: 'error', reason: 'step-failed', message: 'Step "unit_tests" failed.' })
  await engine.finish({ status: 'error', reason: 'step-failed' })
  return scene.admin.builds.get(build.id)
}

/** A build that succeeds in every step. */
export async function passBuild(scene: HttpScene, input: object = {}): Promise<Build> {
  const { build, engine } = await startBuild(scene, input)
  await engine.succeed()
  return scene.admin.builds.get(build.id)
}

/** A build that runs its first steps. */
export async function runBuild(
  scene: HttpScene,
  input: object = {},
): Promise<{ readonly build: Build; readonly engine: TestEngine }> {
  const { build, engine } = await startBuild(scene, input)
  await begin(engine)
  await runStep(engine, 'main_clone', { status: 'success', output: 'Cloned demo/app at 9e11f037.\n' })
  await engine.event({ type: 'step.started', step: 'install', try: 1 })
  await engine.log('step/install', 'npm ci\n')
  return { build, engine }
}

/** A build whose step `gate` waits for an approval. */
export async function waitForApproval(scene: HttpScene, input: object): Promise<Build> {
  const { build, engine } = await startBuild(scene, { document: undefined, ...input })
  await begin(engine)
  await engine.event({ type: 'step.waiting', step: 'gate', reason: 'approval' })
  return build
}
