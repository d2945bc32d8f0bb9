import { createServer } from 'node:http'
import { greeting } from './greeting.js'

const port = Number(process.env.PORT ?? 8080)

createServer((request, response) => {
  const { searchParams } = new URL(request.url, 'http://localhost')
  response.end(`${greeting(searchParams.get('name'))}\n`)
}).listen(port, () => console.log(`listening on ${port}`))
