/** User-defined networks of the daemon: containers on one find each other by name. */
import { z } from 'zod'
import { ignoring } from './containers.ts'
import type { DockerHttp } from './http.ts'

export interface Networks {
  /** Answers the id. Throws `docker-refused` (409) when the name is taken. */
  createNetwork(name: string, labels: Readonly<Record<string, string>>): Promise<string>
  /** What a network needs, so that packets fit where the daemon was given a smaller MTU: driver options of the default network. */
  networkOptions(): Promise<Readonly<Record<string, string>>>
  /** Networks with all these labels. */
  listNetworks(
    labels: readonly string[],
  ): Promise<readonly { readonly id: string; readonly labels: Readonly<Record<string, string>> }[]>
  /** Puts a container, running or not, on one more network; one that is on it already is no error. */
  connectNetwork(network: string, container: string): Promise<void>
  /** Takes a container off; one that is not on it is no error, nor is a network that is gone. */
  disconnectNetwork(network: string, container: string): Promise<void>
  /** One that is gone is no error. Throws `docker-refused` (403) while a container is on it. */
  removeNetwork(network: string): Promise<void>
}

const Created = z.looseObject({ Id: z.string() })
const MTU = 'com.docker.network.driver.mtu'
const Inspected = z.looseObject({ Options: z.record(z.string(), z.string()).nullish() })
const Listed = z.array(z.looseObject({ Id: z.string(), Labels: z.record(z.string(), z.string()).nullish() }))

export function networkCalls(http: DockerHttp): Networks {
  let options: Promise<Readonly<Record<string, string>>> | undefined

  /** The daemon's own MTU setting holds for its default network alone. */
  async function readOptions(): Promise<Readonly<Record<string, string>>> {
    const bridge = await ignoring([404], http.json('GET', '/networks/bridge', Inspected))
    const mtu = bridge?.Options?.[MTU]
    return mtu === undefined ? {} : { [MTU]: mtu }
  }

  const networkOptions = (): Promise<Readonly<Record<string, string>>> => (options ??= readOptions())

  return {
    networkOptions,
    async createNetwork(name, labels) {
      const Options = await networkOptions()
      const body = { Name: name, Driver: 'bridge', CheckDuplicate: true, Labels: labels, Options }
      const { Id } = await http.json('POST', '/networks/create', Created, { body })
      return Id
    },
    async listNetworks(labels) {
      const query = { filters: JSON.stringify({ label: labels }) }
      const found = await http.json('GET', '/networks', Listed, { query })
      return found.map(({ Id, Labels }) => ({ id: Id, labels: Labels ?? {} }))
    },
    async connectNetwork(network, container) {
      // 403: "endpoint with name ... already exists".
      await ignoring([403], http.done('POST', `/networks/${network}/connect`, { body: { Container: container } }))
    },
    async disconnectNetwork(network, container) {
      const body = { Container: container, Force: true }
      await ignoring([403, 404, 409, 500], http.done('POST', `/networks/${network}/disconnect`, { body }))
    },
    async removeNetwork(network) {
      await ignoring([404], http.done('DELETE', `/networks/${network}`))
    },
  }
}
