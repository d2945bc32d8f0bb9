/** The program that reads large documents. Its bundle, if there is one, starts in a fifth of the processor time of its sources. */
import { pathToFileURL } from 'node:url'
import { programFile } from '../../../../e2e/support/programs.ts'

export const DOCUMENT_PROGRAM = pathToFileURL(programFile('document-worker'))
