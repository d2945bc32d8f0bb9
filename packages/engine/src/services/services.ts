/**
 * Manages the services of an attempt: which sets apply to a step (its own, those of its groups, those of the build). Each set is started once and
 * stopped with its owner. A plan without services has no overhead.
 */
import { sentences } from '@windlass/kit'
import {
  kindOf,
  resolveServices,
  type BuildScope,
  type Plan,
  type PlanStep,
  type ResolvedServices,
  type ResolvedStep,
  type ServiceSet,
} from '@windlass/plan'
import type { AttemptContext, StepPart } from '../attempt/context.ts'
import type { StepOutput } from '../output/step-output.ts'
import { unlessAborted } from '../containers/run-container.ts'
import { startServices, type RunningSet } from './service-set.ts'
import { StepFailure } from '../attempt/step-outcome.ts'
import type { ServiceNetwork } from '../attempt/service-network.ts'

export interface ServicesOptions {
  readonly context: AttemptContext
  readonly plan: Plan
  /** Returns the current values of names. */
  readonly scope: () => BuildScope
  /** Opens the log stream for the services of a step or group, or of the build with an empty name. */
  readonly openLog: (owner: string) => StepOutput
}

/** Owner of the services of the build. Empty, like the name of its hooks. */
const BUILD = ''
const BUILD_LABEL = '.services'

interface Entry {
  readonly running: Promise<RunningSet>
  readonly stop: AbortController
  /** A step has reported the failure. Steps that do not name the set continue without it. */
  isReported: boolean
}

export class Services {
  readonly #options: ServicesOptions
  readonly #entries = new Map<string, Entry>()
  readonly #ending = new Set<Promise<void>>()
  #count = 0

  constructor(options: ServicesOptions) {
    this.#options = options
    const { services } = options.plan
    // A compose file of the repository does not exist before the clone.
    if (services !== undefined && 'inline' in services.compose) this.#startSet({ owner: BUILD, set: services }, NO_NETWORKS)
  }

  /**
   * Starts the services that the step needs and resolves when they are ready. Returns undefined without services. Throws `StepFailure`
   * (`service-failed`, `invalid-step`), or the reason of the signal.
   */
  async start(plan: PlanStep, step: ResolvedStep, part: StepPart): Promise<ServiceNetwork | undefined> {
    const owned = this.#ownedFor(plan)
    let serviceNetwork: ServiceNetwork | undefined
    for (const one of owned) {
      const own = one.owner === plan.name ? { part, environment: step.environment } : undefined
      const entry = this.#entries.get(one.owner) ?? this.#startSet(one, serviceNetwork ?? NO_NETWORKS, own)
      try {
        serviceNetwork = (await unlessAborted(entry.running, part.signal)).serviceNetwork
      } catch (error) {
        const isNamed = one.owner !== BUILD || plan.services !== undefined
        if (part.signal.aborted || isNamed || !entry.isReported) {
          entry.isReported = true
          throw error
        }
      }
    }
    return serviceNetwork
  }

  /** Describes failed services of a step with their last lines. Empty if none failed. */
  async explain(plan: PlanStep): Promise<string> {
    const entries = this.#ownedFor(plan).flatMap(({ owner }) => this.#entries.get(owner) ?? [])
    const details = await Promise.all(entries.map(({ running }) => running.then((set) => set.explain()).catch(() => '')))
    return sentences(...details)
  }

  /** Stops the services of a step or group. Resolves when their output is complete. */
  async release(owner: string): Promise<void> {
    const entry = this.#entries.get(owner)
    if (entry === undefined) return
    this.#entries.delete(owner)
    const ended = end(entry)
    this.#ending.add(ended)
    await ended
    this.#ending.delete(ended)
  }

  /** Stops all services. Resolves when nothing more is written. */
  async close(): Promise<void> {
    await Promise.all([...[...this.#entries.keys()].map((owner) => this.release(owner)), ...this.#ending])
  }

  /** Returns the sets for a step, outermost first. Throws `StepFailure` for an unknown name. */
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
        hint: 'Define them at the root of the document.',
      })
    const isWanted = named.length > 0 || kindOf(step.action).usesServices
    return services !== undefined && isWanted ? [{ owner: BUILD, set: services }, ...found] : found
  }

  /**
   * Starts a set. Messages of a step's own services go to the step; those of groups and the build go to their own log, because no single step waits
   * for them.
   */
  #startSet(
    { owner, set }: Owned,
    outer: ServiceNetwork,
    own?: { part: StepPart; environment: ResolvedStep['environment'] },
  ): Entry {
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
    const entry: Entry = { running, stop, isReported: false }
    this.#entries.set(owner, entry)
    return entry
  }
}

/** Never rejects: a lost daemon is reported elsewhere. */
async function end({ running, stop }: Entry): Promise<void> {
  stop.abort(new DOMException('the services are no longer needed', 'AbortError'))
  const set = await running.catch(() => undefined)
  await set?.stop()
}

interface Owned {
  readonly owner: string
  readonly set: ServiceSet
}

const NO_NETWORKS: ServiceNetwork = { networks: [] }

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
