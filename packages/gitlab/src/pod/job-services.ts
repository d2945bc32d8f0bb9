/** The services of a job: those of the configuration, then those of the job. */
import type { KubernetesSection } from '../config/sections/kubernetes-section.ts'
import type { Job } from '../job/payload.ts'
import type { Variables } from '../job/variables.ts'
import { requireAllowed } from './images.ts'
import { nameServices, type NamedService } from './services.ts'

export interface JobService extends NamedService {
  readonly image: string
  readonly command: readonly string[]
  readonly entrypoint: readonly string[]
  /** Own variables, which can be secrets: the pod refers to them by their keys in the Secret of the job. */
  readonly environment: readonly ServiceVariable[]
  /** Pull policies that the job names. */
  readonly pullPolicies: readonly string[]
  /** Returns an own variable of a service of the job, which can change the resources of its container. */
  readonly lookup: (name: string) => string | undefined
}

export interface ServiceVariable {
  readonly name: string
  readonly value: string
  /** Key in the Secret of the job. */
  readonly key: string
}

interface Given {
  readonly alias: string
  readonly variables: readonly Pick<ServiceVariable, 'name' | 'value'>[]
  readonly service: Omit<JobService, keyof NamedService | 'environment'>
}

export interface ServiceOptions {
  readonly job: Pick<Job, 'services'>
  readonly section: Pick<KubernetesSection, 'services' | 'allowed_services'>
  readonly variables: Pick<Variables, 'expand'>
}

/** Returns the services. Throws `ConfigurationError` for an image that is not allowed and for an alias that cannot be a host name. */
export function jobServices(options: ServiceOptions): JobService[] {
  const given = [...configured(options), ...ofJob(options)]
  const names = nameServices(given.map(({ service, alias }) => ({ name: service.image, alias })))
  return given.map(({ variables, service }, index) => {
    const { container = `svc-${index}`, hostNames = [] } = names[index] ?? {}
    const environment = variables.map((variable, n) => ({ ...variable, key: `service-${index}-${n}` }))
    return { ...service, container, hostNames, environment }
  })
}

function configured({ section, variables: { expand } }: ServiceOptions): Given[] {
  return (section.services ?? []).map((one) => ({
    alias: expand(one.alias ?? ''),
    variables: (one.environment ?? []).map((entry) => {
      const at = entry.indexOf('=')
      return { name: entry.slice(0, at), value: expand(entry.slice(at + 1)) }
    }),
    service: {
      image: expand(one.name),
      command: one.command ?? [],
      entrypoint: one.entrypoint ?? [],
      pullPolicies: [],
      lookup: () => undefined,
    },
  }))
}

function ofJob({ job, section, variables: { expand } }: ServiceOptions): Given[] {
  const known = (section.services ?? []).map(({ name }) => expand(name))
  return job.services.map((one) => {
    const image = expand(one.name)
    requireAllowed(image, { kind: 'service', patterns: section.allowed_services, known })
    return {
      alias: expand(one.alias),
      variables: one.variables.map(({ key, value, raw }) => ({ name: key, value: raw === true ? value : expand(value) })),
      service: {
        image,
        command: one.command,
        entrypoint: one.entrypoint,
        pullPolicies: one.pull_policy,
        lookup: (wanted) => one.variables.find(({ key }) => key === wanted)?.value,
      },
    }
  })
}

/** Returns the values of the variables of services, by their keys in the Secret of the job. */
export function serviceValues(services: readonly JobService[]): Readonly<Record<string, string>> {
  return Object.fromEntries(services.flatMap(({ environment }) => environment.map(({ key, value }) => [key, value])))
}

const PORT = 'HEALTHCHECK_TCP_PORT'

/** Returns the ports that the job waits for: `HEALTHCHECK_TCP_PORT` in the variables of a service. */
export function healthChecksOf(services: readonly JobService[]): { readonly service: string; readonly port: number }[] {
  return services.flatMap(({ image, environment }) => {
    const text = environment.find(({ name }) => name === PORT)?.value ?? ''
    const port = /^\d{1,5}$/.test(text) ? Number(text) : 0
    return port > 0 && port < 65_536 ? [{ service: image, port }] : []
  })
}
