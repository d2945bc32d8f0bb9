/** User-defined networks of the daemon. Containers on a network resolve each other by name. */
import { z } from 'zod'
import { ignoring } from './containers.ts'
import { isAnswerLost, type DockerHttp } from './http.ts'

export interface Networks {
  /** Returns the id. Throws `docker-refused` (409) if the name is taken. */
  createNetwork(name: string, labels: Readonly<Record<string, string>>): Promise<string>
  /** Returns the driver options of the default network for new networks, such as a smaller MTU of the daemon. */
  networkOptions(): Promise<Readonly<Record<string, string>>>
  /** Returns the networks with all these labels. */
  listNetworks(
    labels: readonly string[],
  ): Promise<readonly { readonly id: string; readonly labels: Readonly<Record<string, string>> }[]>
  /** Connects a container, running or not, to another network. Does nothing if it is connected already. */
  connectNetwork(network: string, container: string): Promise<void>
  /** Disconnects a container. Ignores missing connections and networks. */
  disconnectNetwork(network: string, container: string): Promise<void>
  /** Removes a network. Ignores missing networks. Throws `docker-refused` (403) while a container is connected. */
  removeNetwork(network: string): Promise<void>
}

const Created = z.looseObject({ Id: z.string() })
const MTU = 'com.docker.network.driver.mtu'
const Inspected = z.looseObject({ Options: z.record(z.string(), z.string()).nullish() })
const Listed = z.array(z.looseObject({ Id: z.string(), Labels: z.record(z.string(), z.string()).nullish() }))

export function networkCalls(http: DockerHttp): Networks {
  let options: Promise<Readonly<Record<string, string>>> | undefined

  /** Reads the options. The daemon applies its MTU setting only to its default network. */
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
      const create = (): Promise<z.output<typeof Created>> =>
        http.json('POST', '/networks/create', Created, { body, isOnce: true })
      try {
        return (await create()).Id
      } catch (error) {
        if (!isAnswerLost(error)) throw error
        // The name is taken (409) if the daemon has created the network.
        return (await ignoring([409], create()))?.Id ?? (await http.json('GET', `/networks/${name}`, Created)).Id
      }
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
