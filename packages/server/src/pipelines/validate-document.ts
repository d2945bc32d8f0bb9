/** Validation of a document against the step types and integrations of the account. */
import { defined } from '@windlass/kit'
import { possibleMainClone, type Diagnostic, type Source } from '@windlass/pipeline'
import type { PipelineSettings } from '@windlass/protocol'
import { readAccountSettings } from '../account/settings.ts'
import type { App } from '../app.ts'
import { readAccountContext } from '../contexts/account-context.ts'
import { readCompositions } from '../contexts/compositions.ts'
import { compileDocument } from '../documents/compile.ts'
import { readWrittenSettings } from './document-settings.ts'
import { readPipelineSettings } from './settings.ts'

/**
 * Returns all problems of a document without a build. `stored` are the settings of its pipeline, which those of the document override. The run may define
 * variables, so no variable is reported as missing.
 */
export async function validateDocument(
  app: App,
  source: Source,
  stored: PipelineSettings = readPipelineSettings(undefined),
): Promise<readonly Diagnostic[]> {
  const settings = await readAccountSettings(app.store.query, app.accountId)
  const { variables: _unknown, ...account } = await readAccountContext(app, { layers: [], settings })
  const { written } = await readWrittenSettings(app, source.text, source.file)
  const mainClone = possibleMainClone((written?.settings ?? stored).mainClone, settings.automaticClone)
  const compositions = await readCompositions(app, source.text)
  const { problems } = await compileDocument(app, source, {
    account,
    compositions,
    checksSource: true,
    ...defined({ mainClone }),
  })
  const all = [...problems, ...(written?.warnings ?? [])]
  return all.toSorted((a, b) => a.line - b.line || a.column - b.column)
}
