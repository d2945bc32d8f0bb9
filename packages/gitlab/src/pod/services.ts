/** Services beside a job: the names of their containers, and the host names by which the job reaches them. */
import { ConfigurationError } from './configuration-error.ts'

export interface ServiceImage {
  readonly name: string
  /** One or more names, separated by white space or commas. */
  readonly alias: string
}

export interface NamedService {
  readonly container: string
  readonly hostNames: readonly string[]
}

const DNS_LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
const DNS_NAME = /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/
/** Names of the containers of every pod. */
const TAKEN = ['build', 'helper', 'init-permissions']

/** Returns the names of services, in their order. Throws `ConfigurationError` for an alias that cannot be a host name. */
export function nameServices(services: readonly ServiceImage[]): NamedService[] {
  const used = new Set(TAKEN)
  return services.map(({ name, alias }, index) => {
    const aliases = alias.split(/[\s,]+/).filter((one) => one !== '')
    const wrong = aliases.find((one) => !DNS_NAME.test(one.toLowerCase()))
    if (wrong !== undefined)
      throw new ConfigurationError(`The alias "${wrong}" of the service "${name}" is not a valid host name.`)
    const container = aliases.find((one) => DNS_LABEL.test(one) && !used.has(one)) ?? `svc-${index}`
    used.add(container)
    return { container, hostNames: [...new Set([...hostNamesOf(name), ...aliases.map((one) => one.toLowerCase())])] }
  })
}

/**
 * Returns the host names that an image gives its service: its path without registry, tag and digest, with `/` as `-`. The form with `__`, which GitLab
 * documents too, has characters that Kubernetes refuses in the host aliases of a pod.
 */
export function hostNamesOf(image: string): string[] {
  const path = image.replace(/@.*$/, '').replace(/:[^/:]*$/, '')
  const [first = '', ...rest] = path.split('/')
  const isRegistry = rest.length > 0 && (/[.:]/.test(first) || first === 'localhost')
  const whole = isRegistry ? rest : [first, ...rest]
  return [whole.join('-')].filter((name) => DNS_NAME.test(name))
}
