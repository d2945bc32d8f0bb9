/** The services of a GitOps runtime, and how calls get to them. */
import http from 'node:http'
import { fault, openAgent, secureContextWith, type Fault, type FaultDetails } from '@windlass/kit'
import { callOverHttp1, type Exchange, type Meter, type Outcome } from '@windlass/tunnel/exchange'
import { fixedLookup, type Names } from './names.ts'
import { serviceOf, type Route, type Service } from './routes.ts'

/** Maximum time until a service accepts a connection. Milliseconds. */
const CONNECT_MS = 10_000

export interface ServiceAddress {
  /** Only protocol, host and port of it count. */
  readonly url: URL
  /** PEM of certificate authorities, besides the default ones. */
  readonly ca?: string | undefined
  /** True accepts any certificate. */
  readonly isInsecure?: boolean | undefined
}

export interface ServicesOptions {
  readonly appProxy: ServiceAddress
  /** Undefined: not enabled. */
  readonly workflows?: ServiceAddress | undefined
  readonly eventSources: {
    readonly names: Names
    /** Such as `cluster.local`. */
    readonly clusterDomain: string
    readonly port: number
  }
  /** Maximum time without any bytes. Milliseconds. */
  readonly idleMs: number
  readonly meter: Meter
}

export type ServiceRoute = Extract<Route, { readonly to: Service }>

interface Target {
  readonly origin: URL
  readonly agent: http.Agent
}

export class Services {
  readonly #options: ServicesOptions
  readonly #appProxy: Target
  readonly #workflows: Target | undefined
  // Their addresses change with their names, so no connection is kept.
  readonly #eventSources = new http.Agent({ keepAlive: false })

  constructor(options: ServicesOptions) {
    this.#options = options
    this.#appProxy = toTarget(options.appProxy)
    this.#workflows = options.workflows && toTarget(options.workflows)
  }

  /**
   * Passes a call to its service. Resolves when it is over. Throws `not-found` for an event source that does not exist, and `router-service` if its name cannot be
   * resolved.
   */
  async call(exchange: Exchange, route: ServiceRoute): Promise<Outcome> {
    const { idleMs, meter } = this.#options
    const how = { connectMs: CONNECT_MS, idleMs, meter }
    if (route.to !== 'event-source') {
      const target = route.to === 'app-proxy' ? this.#appProxy : this.#workflows
      if (target === undefined) throw fault('not-found')
      return callOverHttp1(exchange, { ...target, ...how })
    }
    const { names, clusterDomain, port } = this.#options.eventSources
    const host = `${serviceOf(route.name)}.${route.namespace}.svc.${clusterDomain}`
    const addresses = await names.find(host)
    // The answer is that of a namespace that is not allowed.
    if (addresses === undefined) throw notFound()
    const origin = new URL(`http://${host}:${port}`)
    return callOverHttp1(exchange, { origin, agent: this.#eventSources, lookup: fixedLookup(addresses), ...how })
  }

  close(): void {
    this.#appProxy.agent.destroy()
    this.#workflows?.agent.destroy()
    this.#eventSources.destroy()
  }
}

function toTarget({ url, ca, isInsecure }: ServiceAddress): Target {
  const context = ca === undefined ? undefined : secureContextWith({ ca })
  return { origin: url, agent: openAgent({ tls: url.protocol === 'https:' ? { context, insecure: isInsecure } : undefined }) }
}

/** Returns the fault for a path that leads nowhere. */
export function notFound(): Fault {
  return fault('not-found', {
    message: 'The router of the GitOps runtime has no service at this path.',
    hint: 'Check the path. Webhooks are at /webhooks/NAMESPACE/EVENT-SOURCE, if the Service of the event source exists and its namespace is allowed.',
  })
}

const NAMES: Readonly<Record<Service, string>> = {
  'app-proxy': 'app-proxy',
  workflows: 'Argo server',
  'event-source': 'event source',
}

/** Returns the fault of a call that a service did not answer; undefined for an outcome that needs none. */
export function faultOf(outcome: Outcome, service: Service): Fault | undefined {
  const about = (text: string): FaultDetails => ({ message: `The ${NAMES[service]} of the GitOps runtime ${text}.` })
  if (outcome === 'unreachable') return fault('router-service', about('cannot be reached'))
  if (outcome === 'broken') return fault('router-broken', about('ended the call without a complete answer'))
  if (outcome === 'idle') return fault('router-silent', about('did not answer in time'))
  return undefined
}
