// json-server over one collection. Arguments: folder, number. It is found in the folder that NODE_PATH names.
const jsonServer = require('json-server')

const number = Number(process.argv[3])
const things = Array.from({ length: number }, (_, index) => ({
  id: index + 1, name: `thing ${index + 1}`, isOdd: index % 2 === 0,
}))
const server = jsonServer.create()
server.use(jsonServer.defaults({ logger: false, static: process.argv[2] }))
server.use(jsonServer.router({ things }))
const listener = server.listen(0, '127.0.0.1', () => console.log(`ready ${listener.address().port}`))
process.stdin.resume()
process.stdin.on('end', () => process.exit(0))
