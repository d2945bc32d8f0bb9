/** What is wrong with a document here: in itself, and in an account with these step types and integrations. */
import type { Diagnostic, Source } from '@windlass/pipeline'
import { readAccountSettings } from '../account/settings.ts'
import type { App } from '../app.ts'
import { readAccountContext } from '../contexts/account-context.ts'
import { readCompositions } from '../contexts/compositions.ts'
import { compileWithTypes } from '../step-types/load-catalog.ts'

/** All problems of a document that no build is made of yet: its variables may be defined by the run, so none counts as missing. */
export async function validateDocument(app: App, source: Source): Promise<readonly Diagnostic[]> {
  const settings = await readAccountSettings(app.store.query, app.accountId)
  const { variables: _unknown, ...account } = await readAccountContext(app, { layers: [], settings })
  const { problems } = await compileWithTypes(app, source, { account, compositions: await readCompositions(app, source.text) })
  return problems
}
