/** Checks a document for its author, before anything is known of a build. */
import { possibleMainClone } from '../draft/main-clone.ts'
import type { Diagnostic } from '../language/diagnostic.ts'
import type { Source } from '../syntax/parse.ts'
import type { StepCatalog } from '../typed/catalog.ts'
import { compile } from './compile.ts'
import { readPipelineDocument } from './pipeline-document.ts'

const HAS_KIND = /^["']?kind["']?[ \t]*:/m

/** Returns all problems of an inline or `kind: pipeline` document, as `windlass validate` and the editor of the page show them. Never throws. */
export function checkPipeline(source: Source, stepTypes: StepCatalog): readonly Diagnostic[] {
  // Without a server, the automatic clone of the account is not known, only the one that the document turns on.
  const { document } = HAS_KIND.test(source.text) ? readPipelineDocument(source) : {}
  const mainClone = document && possibleMainClone(document.settings.mainClone, false)
  return compile(source, { mainClone, checksSource: true, stepTypes }).problems
}
