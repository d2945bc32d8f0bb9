/** Routes of service integrations: registries and Jira, whose logins are sealed and committed. */
import { IntegrationName, JiraIntegrationInput, RegistryIntegrationInput, SERVICE_TYPES } from '@windlass/protocol'
import { z } from 'zod'
import type { Slots } from './slots.ts'
import type { ServiceIntegrations } from '../gitops/service-integrations.ts'
import { route, type Route } from './route.ts'

export interface ServiceParts {
  readonly services: ServiceIntegrations
  /** Each change is a commit. */
  readonly slots: Slots
}

const ByName = z.object({ name: IntegrationName })
const ByTypeAndName = ByName.extend({ type: z.enum(SERVICE_TYPES) })

export function serviceRoutes({ services, slots }: ServiceParts): Route[] {
  return [
    route('GET', '/service-integrations', {
      right: 'see-gitops',
      handle: async (call) => ({ items: await services.list(call) }),
    }),
    route('PUT', '/service-integrations/registry/{name}', {
      right: 'manage-gitops',
      isWrite: true,
      params: ByName,
      body: RegistryIntegrationInput,
      slots,
      handle: (call) => services.putRegistry(call, call.params.name, call.body),
    }),
    route('PUT', '/service-integrations/jira/{name}', {
      right: 'manage-gitops',
      isWrite: true,
      params: ByName,
      body: JiraIntegrationInput,
      slots,
      handle: (call) => services.putJira(call, call.params.name, call.body),
    }),
    route('DELETE', '/service-integrations/{type}/{name}', {
      right: 'manage-gitops',
      isWrite: true,
      params: ByTypeAndName,
      slots,
      handle: (call) => services.remove(call, call.params.type, call.params.name),
    }),
  ]
}
