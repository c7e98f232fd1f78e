// The greeter of grpc-go's examples: answers SayHello with a greeting. With -descriptor it writes
// the descriptor set of its service to that file and ends.
package main

import (
	"context"
	"flag"
	"log"
	"net"
	"os"

	"google.golang.org/grpc"
	pb "google.golang.org/grpc/examples/helloworld/helloworld"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
)

type greeter struct {
	pb.UnimplementedGreeterServer
}

func (greeter) SayHello(_ context.Context, in *pb.HelloRequest) (*pb.HelloReply, error) {
	return &pb.HelloReply{Message: "Hello " + in.GetName()}, nil
}

func write(path string) error {
	file := protodesc.ToFileDescriptorProto(pb.File_examples_helloworld_helloworld_helloworld_proto)
	set := &descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{file}}
	bytes, err := proto.Marshal(set)
	if err != nil {
		return err
	}
	return os.WriteFile(path, bytes, 0o644)
}

func main() {
	address := flag.String("listen", "127.0.0.1:50051", "host:port")
	descriptor := flag.String("descriptor", "", "write the descriptor set here, and end")
	flag.Parse()
	if *descriptor != "" {
		if err := write(*descriptor); err != nil {
			log.Fatal(err)
		}
		return
	}
	listener, err := net.Listen("tcp", *address)
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer()
	pb.RegisterGreeterServer(server, greeter{})
	log.Fatal(server.Serve(listener))
}
