/**
 * What an engine measures of its build: the phases and times of the build, of its steps and of their containers. Prometheus reads it (`metrics.ts`), and it is
 * pushed to OpenTelemetry (`push.ts`). Names and attributes are those of Codefresh's engine, so that dashboards keep working.
 */
import { defined, isFault, type Clock } from '@windlass/kit'
import type { AttemptOutcome, EngineClaimed, EngineEvent } from '@windlass/protocol'
import type { AttemptObserver, StepSample } from '../attempt/observer.ts'
import { Span } from './span.ts'

type Attributes = Readonly<Record<string, string>>

export interface Point {
  readonly attributes: Attributes
  readonly value: number
}

export interface Measurement {
  readonly name: string
  readonly help: string
  readonly unit: '1' | 's' | 'By'
  /** True for a value that only grows from the start of the build. */
  readonly isSum: boolean
  readonly points: readonly Point[]
}

export interface Measurements extends AttemptObserver {
  /** Sets the build. */
  begin(of: Pick<EngineClaimed, 'buildId' | 'attempt' | 'belongsTo'>): void
  /** Sets the steps, which a document in a repository has only after it is read. */
  setPlan(plan: Pick<EngineClaimed['plan'], 'steps'>): void
  /** Takes an event of the attempt. */
  observe(event: EngineEvent): void
  /** Takes the end of the engine, when the server has everything. */
  end(outcome: AttemptOutcome): void
  /** Start of the measurements; undefined before `begin`. Epoch milliseconds. */
  readonly since: () => number | undefined
  read(): Measurement[]
}

/** Kinds of steps that are compositions. */
const COMPOSITIONS: ReadonlySet<string> = new Set(['composition', 'launch-composition'])

const PHASE_OF: Readonly<Record<AttemptOutcome['status'], string | undefined>> = {
  success: 'succeeded',
  error: 'failed',
  terminated: 'terminated',
  // Another attempt goes on with the build.
  'pending-approval': undefined,
}

const PREFIX = 'codefresh.classic.build'

export function openMeasurements(clock: Clock): Measurements {
  const build = new Span()
  const steps = new Map<string, Span>()
  const tasks = new Map<string, Named>()
  const samples = new Map<string, StepSample>()
  const retries = new Map<string, { readonly attributes: Attributes; count: number; delayMs: number }>()
  let common: Attributes = {}
  let types: ReadonlyMap<string, string> = new Map()
  let volume: string | undefined

  const typeOf = (step: string): string => types.get(step) ?? ''
  const spanOf = (step: string): Span => {
    const span = steps.get(step) ?? new Span()
    steps.set(step, span)
    return span
  }

  function observe(event: EngineEvent): void {
    const { type, at } = event
    if (type === 'attempt.started') volume = event.volumeKept ? 'reused' : 'new'
    if ((type === 'attempt.started' || type === 'step.started') && build.phase === 'preparing') build.enter('running', at)
    if (type === 'step.started') spanOf(event.step).start('running', at)
    if (type === 'step.phase') spanOf(event.step).enter(event.phase, event.since)
    // A step that was skipped has not started.
    if (type === 'step.finished') steps.get(event.step)?.end('finished', at, event.phases)
    if (type === 'attempt.finished' && PHASE_OF[event.outcome.status] !== undefined) build.enter('finalizing', at)
  }

  return {
    begin({ buildId, attempt, belongsTo }) {
      const { pipelineId, pipeline, accountId, account } = belongsTo ?? {}
      common = defined({
        'cf.classic.build.id': buildId,
        'cf.classic.pipeline.id': pipelineId,
        'cf.classic.pipeline.name': pipeline,
        'cf.classic.account.id': accountId,
        'cf.classic.account.name': account,
        attempt: String(attempt),
      })
      build.start('preparing', clock.now())
    },
    setPlan: ({ steps: planned }) => void (types = new Map(planned.map(({ name, action }) => [name, action.kind]))),
    observe,
    sample: (step, sample) => void samples.set(step, sample),
    task({ step, name }, change) {
      const key = JSON.stringify([step, name])
      const attributes = { 'composition.name': step, 'composition.task.name': name }
      const { span } = tasks.get(key) ?? { span: new Span() }
      tasks.set(key, { span, attributes })
      if (change === 'started') span.start('running', clock.now())
      else span.end('finished', clock.now())
    },
    retried({ operation, error, delayMs }) {
      const code = isFault(error) ? error.code : 'unknown'
      const key = `${operation} ${code}`
      const attributes = { 'docker.operation.name': operation, 'docker.operation.error': code }
      const one = retries.get(key) ?? { attributes, count: 0, delayMs: 0 }
      retries.set(key, one)
      one.count += 1
      one.delayMs += delayMs
    },
    end({ status }) {
      const phase = PHASE_OF[status]
      if (phase !== undefined) build.end(phase, clock.now())
    },
    since: () => build.startedAt,
    read() {
      if (build.startedAt === undefined) return []
      const ofBuild: Named[] = [{ span: build, attributes: defined({ volume }) }]
      const ofSteps = [...steps].map(([name, span]): Named => ({
        span,
        attributes: { 'step.name': name, 'step.type': typeOf(name) },
      }))
      const compositions = [...steps].flatMap(([name, span]): Named[] =>
        COMPOSITIONS.has(typeOf(name))
          ? [{ span, attributes: { 'composition.name': name, 'composition.type': typeOf(name) } }]
          : [],
      )
      const all = [
        ...spans(PREFIX, 'the build', ofBuild),
        ...spans(`${PREFIX}.step`, 'a step', ofSteps),
        ...usage([...samples].map(([name, sample]) => [{ 'step.name': name, 'step.type': typeOf(name) }, sample])),
        ...spans(`${PREFIX}.composition`, 'a composition', compositions),
        ...spans(`${PREFIX}.composition.task`, 'a container of a composition', [...tasks.values()]),
        ...retried([...retries.values()]),
      ]
      return all
        .filter(({ points }) => points.length > 0)
        .map((one) => ({
          ...one,
          points: one.points.map(({ attributes, value }) => ({ attributes: { ...common, ...attributes }, value })),
        }))
    },
  }
}

interface Named {
  readonly span: Span
  readonly attributes: Attributes
}

/** The measurements that builds, steps, compositions and their containers have in common. */
function spans(prefix: string, of: string, all: readonly Named[]): Measurement[] {
  const gauge = (name: string, help: string, points: readonly (Point | undefined)[]): Measurement => ({
    name: `${prefix}.${name}`,
    help,
    unit: name === 'info' ? '1' : 's',
    isSum: false,
    points: points.filter((point) => point !== undefined),
  })
  const at = (attributes: Attributes, time: number | undefined): Point | undefined =>
    time === undefined ? undefined : { attributes, value: time / 1000 }
  const phases = all.flatMap(({ span, attributes }) =>
    span.phases().map(({ phase, from, to }) => ({ attributes: { ...attributes, phase }, from, to })),
  )
  return [
    gauge(
      'info',
      `Phase of ${of}`,
      all.map(({ span, attributes }) => ({ attributes: { ...attributes, phase: span.phase }, value: 1 })),
    ),
    gauge(
      'start.timestamp',
      `Start of ${of}, epoch seconds`,
      all.map(({ span, attributes }) => at(attributes, span.startedAt)),
    ),
    gauge(
      'completion.timestamp',
      `End of ${of}, epoch seconds`,
      all.map(({ span, attributes }) => at(attributes, span.endedAt)),
    ),
    gauge(
      'phase.start.timestamp',
      `Start of a phase of ${of}, epoch seconds`,
      phases.map(({ attributes, from }) => at(attributes, from)),
    ),
    gauge(
      'phase.completion.timestamp',
      `End of a phase of ${of}, epoch seconds`,
      phases.map(({ attributes, to }) => at(attributes, to)),
    ),
  ]
}

function usage(samples: readonly (readonly [Attributes, StepSample])[]): Measurement[] {
  const pick = (read: (sample: StepSample) => number): Point[] =>
    samples.map(([attributes, sample]) => ({ attributes, value: read(sample) }))
  const [cpu, memory, workingSet] = [
    pick(({ cpuMs }) => cpuMs / 1000),
    pick(({ memoryUsageBytes }) => memoryUsageBytes),
    pick(({ workingSetBytes }) => workingSetBytes),
  ]
  const of = 'the containers of a step'
  return [
    { name: `${PREFIX}.step.cpu.time`, help: `Processor time of ${of}`, unit: 's', isSum: true, points: cpu },
    { name: `${PREFIX}.step.memory.usage`, help: `Memory of ${of}`, unit: 'By', isSum: false, points: memory },
    {
      name: `${PREFIX}.step.memory.working_set`,
      help: `Memory of ${of} without the cache that can be dropped`,
      unit: 'By',
      isSum: false,
      points: workingSet,
    },
  ]
}

function retried(
  all: readonly { readonly attributes: Attributes; readonly count: number; readonly delayMs: number }[],
): Measurement[] {
  const name = 'codefresh.classic.engine.docker.request_retries'
  const points = (read: (one: (typeof all)[number]) => number): Point[] =>
    all.map((one) => ({ attributes: one.attributes, value: read(one) }))
  return [
    { name, help: 'Repeated calls of the Docker daemon', unit: '1', isSum: true, points: points(({ count }) => count) },
    {
      name: `${name}.delay.time`,
      help: 'Time before repeated calls of the Docker daemon',
      unit: 's',
      isSum: true,
      points: points(({ delayMs }) => delayMs / 1000),
    },
  ]
}
