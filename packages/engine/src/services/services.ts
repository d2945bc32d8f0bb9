/**
 * The services of an attempt: which sets a step has around it (its own, those of groups, those of the build), started once and stopped with
 * what they belong to. A plan without services costs nothing here.
 */
import {
  resolveServices,
  type BuildScope,
  type Plan,
  type PlanStep,
  type ResolvedServices,
  type ResolvedStep,
  type ServiceSet,
} from '@windlass/plan'
import { StepFailure, type AttemptContext, type Reach, type StepPart } from '../attempt/context.ts'
import type { StepOutput } from '../output/step-output.ts'
import { unlessAborted } from '../steps/run-container.ts'
import { startServices, type RunningSet } from './service-set.ts'

export interface ServicesOptions {
  readonly context: AttemptContext
  readonly plan: Plan
  /** What names mean now. */
  readonly scope: () => BuildScope
  /** Opens the stream of the services of a step or group; of the build with an empty name. */
  readonly openLog: (owner: string) => StepOutput
}

/** Owner of the services of the whole build, as its hooks have no name before the dot either. */
const BUILD = ''
const BUILD_LABEL = '.services'
/** Steps that run nothing of the user's own need not wait for services that they do not name. */
const WITH_CONTAINERS: readonly PlanStep['action']['kind'][] = ['freestyle', 'composition', 'launch-composition']

interface Entry {
  readonly running: Promise<RunningSet>
  readonly stop: AbortController
  /** A failure was told by a step; others that do not name the set go on without it. */
  isTold: boolean
}

export class Services {
  readonly #options: ServicesOptions
  readonly #entries = new Map<string, Entry>()
  readonly #ending = new Set<Promise<void>>()
  #count = 0

  constructor(options: ServicesOptions) {
    this.#options = options
    const { services } = options.plan
    // A compose file of the repository is there only once it is cloned.
    if (services !== undefined && 'inline' in services.compose) this.#start({ owner: BUILD, set: services }, NOTHING)
  }

  /**
   * Starts what the step needs and does not run yet; resolves when it can be used. Undefined without services. Throws `StepFailure`
   * (`service-failed`, `invalid-step`), or the reason of the signal.
   */
  async reach(plan: PlanStep, step: ResolvedStep, part: StepPart): Promise<Reach | undefined> {
    const owned = this.#ownedFor(plan)
    let reach: Reach | undefined
    for (const one of owned) {
      const own = one.owner === plan.name ? { part, environment: step.environment } : undefined
      const entry = this.#entries.get(one.owner) ?? this.#start(one, reach ?? NOTHING, own)
      try {
        reach = (await unlessAborted(entry.running, part.signal)).reach
      } catch (error) {
        const isNamed = one.owner !== BUILD || plan.services !== undefined
        if (part.signal.aborted || isNamed || !entry.isTold) {
          entry.isTold = true
          throw error
        }
      }
    }
    return reach
  }

  /** The words of services around a step that ended badly; empty when none did. */
  async explain(plan: PlanStep): Promise<string> {
    const entries = this.#ownedFor(plan).flatMap(({ owner }) => this.#entries.get(owner) ?? [])
    const words = await Promise.all(entries.map(({ running }) => running.then((set) => set.explain()).catch(() => '')))
    return words.filter((text) => text !== '').join(' ')
  }

  /** Stops the services of a step or group; resolves when their output is whole. */
  async release(owner: string): Promise<void> {
    const entry = this.#entries.get(owner)
    if (entry === undefined) return
    this.#entries.delete(owner)
    const ended = end(entry)
    this.#ending.add(ended)
    await ended
    this.#ending.delete(ended)
  }

  /** Stops all of them; resolves when nothing is written any more. */
  async close(): Promise<void> {
    await Promise.all([...[...this.#entries.keys()].map((owner) => this.release(owner)), ...this.#ending])
  }

  /** The sets around a step, the outermost first. Throws `StepFailure` for a name that nobody has. */
  #ownedFor(step: PlanStep): Owned[] {
    const { plan } = this.#options
    const found: Owned[] = []
    for (let at: PlanStep | undefined = step; at !== undefined; at = parentOf(plan, at))
      if (at.services !== undefined && isSet(at.services)) found.unshift({ owner: at.name, set: at.services })
    const named = step.services === undefined || isSet(step.services) ? [] : step.services
    const { services } = plan
    const unknown = named.find((name) => services === undefined || (services.name ?? name) !== name)
    if (unknown !== undefined)
      throw new StepFailure('invalid-step', `The build has no services "${unknown}".`, {
        hint: 'Name them at the root of the document.',
      })
    const isWanted = named.length > 0 || WITH_CONTAINERS.includes(step.action.kind)
    return services !== undefined && isWanted ? [{ owner: BUILD, set: services }, ...found] : found
  }

  /** Of a step's own the messages go to the step; those of groups and of the build, which no single step waits for, to their own log. */
  #start({ owner, set }: Owned, outer: Reach, own?: { part: StepPart; environment: ResolvedStep['environment'] }): Entry {
    const { context, scope, openLog } = this.#options
    const stop = new AbortController()
    const log = openLog(owner)
    const part: StepPart = {
      context,
      step: { name: owner === BUILD ? BUILD_LABEL : owner },
      output: own?.part.output ?? log,
      signal: own === undefined ? stop.signal : AbortSignal.any([own.part.signal, stop.signal]),
    }
    this.#count += 1
    const key = `${owner}#${this.#count}`
    const environment = own?.environment ?? scope().environment()
    const running = fill(set, scope().with(environment)).then((services) =>
      startServices(part, { key, services, outer, environment, log }),
    )
    running.catch(() => undefined)
    const entry: Entry = { running, stop, isTold: false }
    this.#entries.set(owner, entry)
    return entry
  }
}

/** Never rejects: a daemon that is lost shows elsewhere. */
async function end({ running, stop }: Entry): Promise<void> {
  stop.abort(new DOMException('the services are not needed any more', 'AbortError'))
  const set = await running.catch(() => undefined)
  await set?.stop()
}

interface Owned {
  readonly owner: string
  readonly set: ServiceSet
}

const NOTHING: Reach = { networks: [] }

function isSet(services: NonNullable<PlanStep['services']>): services is ServiceSet {
  return !Array.isArray(services)
}

function parentOf(plan: Plan, { parent }: PlanStep): PlanStep | undefined {
  return parent === undefined ? undefined : plan.steps.find(({ name }) => name === parent)
}

async function fill(set: ServiceSet, scope: BuildScope): Promise<ResolvedServices> {
  const { services, problems } = resolveServices(set, scope)
  if (services === undefined) throw new StepFailure('invalid-step', problems.map(({ message }) => message).join('; '))
  return services
}
