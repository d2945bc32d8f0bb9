/** Which template says what is promoted of an application that a runtime has reported. */
import type { InlineTemplate } from '@windlass/protocol'
import type { App } from '../../app.ts'
import { showApplication } from '../applications/show-applications.ts'
import { listDefined, PRODUCTS, TEMPLATES } from '../products/definitions.ts'
import { isOfProduct } from '../products/membership.ts'
import { listPlacedApplications } from '../products/placed.ts'
import { templateOf } from './template.ts'

/** Returns the template of an application by RUNTIME/NAMESPACE/NAME; undefined if its product names one that does not exist. Throws `not-found`. */
export async function findTemplate(app: App, name: string): Promise<InlineTemplate | undefined> {
  const { store, accountId } = app
  const { id, labels = {} } = await showApplication(app, name)
  const placed = (await listPlacedApplications(store.query, accountId)).find((one) => one.id === id)
  const products = await listDefined(store.query, accountId, PRODUCTS)
  const product = placed && products.find((one) => isOfProduct(placed, one))
  return templateOf(product ?? {}, await listDefined(store.query, accountId, TEMPLATES), labels)
}
